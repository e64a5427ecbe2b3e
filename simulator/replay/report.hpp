// The results of a sweep, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "simulator/replay/sweep.hpp"

namespace tessera {

// A line per run, with the figures at 100 and at 130 % of the GPUs requested.
std::string run_table(std::span<const SimRun> runs);
// A line per run and whole percent: trace,policy,seed,percent,allocation,fragmentation,ratio.
std::string run_csv(std::span<const SimRun> runs);
// The same, with the totals of each run: {"runs": [{"trace", ..., "curve": [{"percent", ...}]}]}.
std::string run_json(std::span<const SimRun> runs);

}  // namespace tessera
