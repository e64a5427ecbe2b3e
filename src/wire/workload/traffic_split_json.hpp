// The objects that split the traffic of a serving job's versions, as JSON: an HTTPRoute of the
// Gateway API (https://gateway-api.sigs.k8s.io/reference/spec/), or a Service that selects the pods
// of several versions. Both belong to the Deployments of all versions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/serving/traffic_split.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// Of the shared Service: the weights that were requested, such as "v1:30,v2:70".
inline constexpr std::string_view kWeightsAnnotation = "tessera.dev/traffic-weights";

// gateway.networking.k8s.io/v1 HTTPRoute.
std::string write_route(const TrafficRoute& route);
// A JSON patch that makes `before` the route `wanted`. Other rules, filters and timeouts stay. The
// API server refuses it (422) if the route was changed since it was read.
std::string write_route_change(const TrafficRoute& before, const TrafficRoute& wanted);
// A route of `tessera serve traffic-split`; nothing if it is another one.
std::optional<TrafficRoute> read_route(JsonValue route);
// The namespace and name of a Gateway.
GatewayName read_gateway(JsonValue gateway);

// v1 Service of type ClusterIP.
std::string write_shared_service(const SharedService& service);
// A Service that write_shared_service() wrote; nothing if it is another one.
std::optional<SharedServiceState> read_shared_service(JsonValue service);
// A JSON patch, as write_route_change().
std::string write_shared_service_change(const SharedServiceState& before,
                                        const SharedService& wanted);

// A JSON patch of a job's Deployment with this uid: whether the shared Service selects its pods,
// and how many there are.
std::string write_part(std::string_view uid, bool in_split, std::optional<int> replicas);
// The same for a pod that runs.
std::string write_pod_part(std::string_view uid, bool in_split);

}  // namespace tessera::workload
