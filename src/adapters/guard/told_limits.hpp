// What a pod's user knows of his container, in files beside its region, whatever agent told him: so
// he hears once of each limit that was reached (`told`), and of damaged accounts (`told-damage`).
#pragma once

#include <filesystem>
#include <optional>

#include "base/ids.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

// Nothing where nothing is noted, or what is cannot be read.
std::optional<ToldLimit> read_told_limit(const std::filesystem::path& region, const GpuUuid& card);
// What cannot be written is logged: he is told again, and may learn of the disk.
void note_told_limit(const std::filesystem::path& region, const GpuUuid& card,
                     const ToldLimit& told);

// The same of the container's damaged accounts.
bool read_told_damage(const std::filesystem::path& region);
void note_told_damage(const std::filesystem::path& region, bool is_told);

}  // namespace tessera
