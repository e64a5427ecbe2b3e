// tessera serve: creates, changes, finds and deletes serving jobs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/serving/serving.hpp"
#include "domain/serving/serving_status.hpp"
#include "ports/kube/servings.hpp"

namespace tessera {

using PrintLine = std::function<void(const std::string& line)>;

// Creates the Deployment, and then what it owns. If the command was interrupted before, the same
// command creates what is missing. If another object is refused, the Deployment is deleted again.
// If other versions share an address, the job gets none of its traffic.
// Calls `print` for each object that it created, and `warn` if no GPU is large enough. Errors:
// conflict if there is another job of this name; those of the port.
Result<> create_serving(Servings& cluster, const workload::Serving& job, const PrintLine& print,
                        const PrintLine& warn);

// Makes `job` of `before`. `recorded`: the job by the flags that `before` recorded; what `job` has
// in common with it is not written, so changes by other programs are kept. `replicas`: their number
// is written, too. Errors: invalid_argument if the ports differ; those of the port.
Result<> update_serving(Servings& cluster, const workload::ServingStatus& before,
                        const workload::Serving& recorded, const workload::Serving& job,
                        bool replicas, const PrintLine& print);

// Which job a command is about. An empty version or type: any, and none of these is a version.
struct ServingChoice {
    std::string ns;
    std::string name;
    std::optional<std::string> version;
    std::optional<workload::ServingType> type;
};

// The only one of these jobs that matches; `jobs`: all of the name. not_found, or conflict with a
// table if several do.
Result<workload::ServingStatus> choose_serving(std::vector<workload::ServingStatus> jobs,
                                               const ServingChoice& choice);
// The same, of the cluster's jobs.
Result<workload::ServingStatus> find_serving(Servings& cluster, const ServingChoice& choice);

// The pod whose log to show: the named one, or the only one; of several the first that is not
// ready, because its log says why. not_found, or conflict with the names if several are ready.
Result<workload::WorkloadPod> pod_for_logs(const workload::ServingStatus& job,
                                           const std::string& pod);
// The pod in which to run a command: the named one, or the only one that runs. Errors as above.
Result<workload::WorkloadPod> pod_for_command(const workload::ServingStatus& job,
                                              const std::string& pod);

}  // namespace tessera
