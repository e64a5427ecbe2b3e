// Which of a container's refusals its pod's user needs no word of: the file `told` beside its
// region. Once he was told that the limit is reached, none any more; when the limit grows, those
// from then on are news again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace tessera {

inline constexpr std::int64_t kAllRefusals = std::numeric_limits<std::int64_t>::max();

// So many of them, the first ones; 0 where he was never told.
std::int64_t told_refusals(const std::filesystem::path& region);
// What cannot be written is logged: he is told again, and may learn of the disk.
void note_told_refusals(const std::filesystem::path& region);
// The limit has grown after so many refusals.
void note_grown_limit(const std::filesystem::path& region, std::int64_t refusals);
// The container starts again, and its refusals are counted from 0.
void note_new_count(const std::filesystem::path& region);

}  // namespace tessera
