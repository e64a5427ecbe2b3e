// What a pod's user knows of the limits of his container (the file `told` beside its region), so
// that he hears once of each limit that was reached.
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

}  // namespace tessera
