// What was reported to a pod's user about a container, in files beside its region. The files
// survive the agent, so each limit that was reached is reported once (`told`), and damaged
// accounts, too (`told-damage`).
#pragma once

#include <filesystem>
#include <optional>

#include "base/ids.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

// Nothing if nothing was noted, or if it cannot be read.
std::optional<ReportedLimit> read_reported_limit(const std::filesystem::path& region,
                                                 const GpuUuid& gpu);
// A failed write is logged: the limit is then reported again, and the log shows the failing disk.
void note_reported_limit(const std::filesystem::path& region, const GpuUuid& gpu,
                         const ReportedLimit& reported);

// The same for the container's damaged accounts.
bool read_reported_damage(const std::filesystem::path& region);
void note_reported_damage(const std::filesystem::path& region, bool is_reported);

}  // namespace tessera
