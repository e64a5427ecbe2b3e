// tessera serve: creates, changes, finds and deletes serving jobs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/workload/serving.hpp"
#include "domain/workload/serving_status.hpp"
#include "ports/kube/servings.hpp"

namespace tessera {

using PrintLine = std::function<void(const std::string& line)>;

// Creates the Deployment, and then what it owns. If the command was interrupted before, the same
// command creates what is missing. If another object cannot be created, the Deployment is deleted
// again. Calls `print` for each object that it created, and `warn` if no GPU is large enough.
// Errors: conflict if there is another job of this name; those of the port.
Result<> create_serving(Servings& cluster, const workload::Serving& job, const PrintLine& print,
                        const PrintLine& warn);

// Which job a command is about. An empty version or type: any, and none of these is a version.
struct ServingChoice {
    std::string ns;
    std::string name;
    std::optional<std::string> version;
    std::optional<workload::ServingType> type;
};

// The only job that matches. not_found, or conflict with a table if several do.
Result<workload::ServingStatus> find_serving(Servings& cluster, const ServingChoice& choice);

// The pod whose log to show: the named one, or the only one; of several the first that is not
// ready, because its log says why. not_found, or conflict with the names if several are ready.
Result<workload::ServingPod> pod_for_logs(const workload::ServingStatus& job,
                                          const std::string& pod);

// Why the request fits no GPU of these nodes, even an unused one, and which is the closest. Empty
// if it fits, or if there are no GPUs.
std::string no_gpu_is_large_enough(const workload::Gpus& request,
                                   std::span<const NodeInventory> nodes);

}  // namespace tessera
