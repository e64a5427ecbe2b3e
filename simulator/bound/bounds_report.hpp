// The results of find_bounds(), for people and for programs.
#pragma once

#include <span>
#include <string>

#include "simulator/bound/bounds.hpp"

namespace tessera {

// A line per run and policy, and below them the means if there are several runs. All figures except
// the seed and the tasks are percentages of all GPUs. DISTANCE is the bound minus what the policy
// allocates.
std::string bound_table(std::span<const BoundRun> runs);
// A line per run and policy:
// trace,seed,arrivals,tasks,asked,bound,gap,all_placed,policy,allocated,distance. Values that were
// not requested are empty; arrivals is 0 if all count.
std::string bound_csv(std::span<const BoundRun> runs);
// {"bounds": [{"trace", "seed", ..., "policies": [{"policy", "allocated", "distance"}]}]}.
std::string bound_json(std::span<const BoundRun> runs);

}  // namespace tessera
