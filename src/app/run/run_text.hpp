// What `tessera run` prints for people.
#pragma once

#include <span>
#include <string>

#include "domain/run/run_end.hpp"
#include "domain/run/run_lease.hpp"

namespace tessera {

// One line per run, in the given order.
std::string run_table(std::span<const LiveRun> runs);

// One line about a run that ended, without a line break.
std::string run_end_text(const RunLease& lease, const RunEnd& end);

}  // namespace tessera
