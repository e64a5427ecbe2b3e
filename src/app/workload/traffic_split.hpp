// tessera serve traffic-split: sends parts of the traffic of one address to versions of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/workload/serve.hpp"
#include "domain/serving/traffic_split.hpp"
#include "ports/kube/servings.hpp"
#include "ports/kube/traffic_splits.hpp"

namespace tessera {

struct SplitRequest {
    std::string ns;
    std::string name;
    std::vector<workload::VersionWeight> weights;
    std::optional<workload::GatewayName> gateway;  // nothing: the route's, or none
    std::optional<std::string> hostname;           // nothing: the route's, or NAME.NAMESPACE
    bool scale = false;                            // change the numbers of pods to give the split
};

// Splits by an HTTPRoute if there is one or a Gateway is named, or else by a Service and the
// numbers of pods. The same command completes what an interrupted one began. Calls `print` for each
// object that it wrote, and for where the callers send their requests. Errors: not_found for a
// version or Gateway that is not there; conflict if the numbers of pods give another split and
// `scale` is false, or if another command makes a split at the same time; those of the ports.
Result<> split_traffic(Servings& servings, TrafficSplits& splits, const SplitRequest& request,
                       const PrintLine& print);

// Deletes the objects of a split: each version keeps its own address. not_found if there are none.
Result<> remove_split(Servings& servings, TrafficSplits& splits, const std::string& ns,
                      const std::string& name, const PrintLine& print);

// Deletes a serving job, and returns what it was. conflict if it gets a part of the traffic that
// would fail then; errors as find_serving().
Result<workload::ServingStatus> remove_serving(Servings& cluster, const ServingChoice& choice);

}  // namespace tessera
