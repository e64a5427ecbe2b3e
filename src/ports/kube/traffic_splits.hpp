// The objects of a cluster that split the traffic of a serving job's versions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/serving/serving_status.hpp"
#include "domain/serving/traffic_split.hpp"

namespace tessera {

// A single thread calls. Errors name the missing permission, or have the API server's own text.
// `jobs`: all of the name, one of which owns the object. If those that owned it were just deleted,
// reads wait until the API server has deleted it, up to half a minute. conflict if an object of the
// name belongs to anything else, or if another command changed it since it was read.
class TrafficSplits {
  public:
    virtual ~TrafficSplits() = default;

    // The Gateways of the cluster, or of the namespace if the user may not list all. not_found if
    // the cluster has no Gateway API.
    virtual Result<std::vector<workload::GatewayName>> gateways(const std::string& ns) = 0;

    // Nothing if there is none.
    virtual Result<std::optional<workload::TrafficRoute>> route(
        const std::string& name, std::span<const workload::ServingStatus> jobs) = 0;
    // Creates the route, or changes `before` to it.
    virtual Result<> write(const workload::TrafficRoute& wanted,
                           const std::optional<workload::TrafficRoute>& before) = 0;

    // As route() and write().
    virtual Result<std::optional<workload::SharedServiceState>> service(
        const std::string& name, std::span<const workload::ServingStatus> jobs) = 0;
    virtual Result<> write(const workload::SharedService& wanted,
                           const std::optional<workload::SharedServiceState>& before) = 0;
    // Delete the object that was read.
    virtual Result<> remove(const workload::TrafficRoute& route) = 0;
    virtual Result<> remove(const workload::SharedServiceState& service) = 0;
    // Whether the shared Service selects the job's pods, and their number, if it changes. The pods
    // that run are changed at once, if the user may patch pods. All are replaced by a rolling
    // update, if the first changes.
    virtual Result<> set_part(const workload::ServingStatus& job, bool in_split,
                              std::optional<int> replicas) = 0;
};

}  // namespace tessera
