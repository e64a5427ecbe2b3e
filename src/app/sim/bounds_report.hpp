// What find_bounds() found, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "app/sim/bounds.hpp"

namespace tessera {

// A line per run and policy, and below them the means when there are several runs. All figures but
// the seed and the tasks are percent of all cards; DISTANCE is the bound less what the policy
// holds.
std::string bound_table(std::span<const BoundRun> runs);
// A line per run and policy:
// trace,seed,arrivals,tasks,asked,bound,gap,all_placed,policy,held,distance; empty where not asked
// for, arrivals 0 where all count.
std::string bound_csv(std::span<const BoundRun> runs);
// {"bounds": [{"trace", "seed", ..., "policies": [{"policy", "held", "distance"}]}]}.
std::string bound_json(std::span<const BoundRun> runs);

}  // namespace tessera
