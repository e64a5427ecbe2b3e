// What to do about code that does not come from git.
#pragma once

#include <string>

#include "domain/workload/workload_pod.hpp"

namespace tessera {

// Follows the reason why the pod waits or has failed. Empty unless the pod waits for its code.
// `job`: the name of the training job.
std::string code_hint(const workload::WorkloadPod& pod, const std::string& job);

}  // namespace tessera
