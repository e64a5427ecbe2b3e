// One address for the versions of a serving job, which get parts of its traffic
// (`tessera serve traffic-split`). Either a Gateway splits the requests by weights, or kube-proxy
// splits the connections by the numbers of ready pods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/serving/serving_status.hpp"

namespace tessera::workload {

struct VersionWeight {
    std::string version;  // empty: the job without a version
    int percent = 0;      // 0 to 100

    friend bool operator==(const VersionWeight&, const VersionWeight&) = default;
};

// The texts of -v: "v1:30", or a bare "v1" for all of the traffic. invalid_argument if a
// version appears twice, or the weights do not total 100.
Result<std::vector<VersionWeight>> parse_weights(const std::vector<std::string>& texts);

struct GatewayName {
    std::string ns;
    std::string name;

    friend bool operator==(const GatewayName&, const GatewayName&) = default;
};

// "NAME" of the namespace `ns`, or "NAME/NAMESPACE". invalid_argument names --gateway.
Result<GatewayName> parse_gateway(std::string_view text, const std::string& ns);

// A host name, or "*.example.com" for all below it. "*" alone is returned as an empty text: every
// host. invalid_argument names --hostname.
Result<std::string> parse_hostname(std::string_view text);

// A Deployment that owns the object of a split. The object is deleted when all of its owners are.
struct SplitOwner {
    std::string name;
    std::string uid;

    friend bool operator==(const SplitOwner&, const SplitOwner&) = default;
};

// A Service that gets requests.
struct RouteBackend {
    std::string service;
    int port = 0;
    int weight = 0;

    friend bool operator==(const RouteBackend&, const RouteBackend&) = default;
};

// The HTTPRoute of a split. Its name is that of the serving job.
struct TrafficRoute {
    std::string ns;
    std::string name;
    GatewayName gateway;
    std::string hostname;  // empty: every host
    std::vector<RouteBackend> backends;
    std::vector<SplitOwner> owners;
    // As read; not written.
    std::string uid;
    std::int64_t generation = 0;  // of the spec
    std::string why;              // why the Gateway does not take it; empty if it does
};

// Whether one of these jobs is an owner.
bool is_owned_by(std::span<const SplitOwner> owners, std::span<const ServingStatus> jobs);

// The weights as one text, such as "v1:30,v2:70".
std::string weights_text(std::span<const VersionWeight> weights);

// The Service of a split. Its name is that of the serving job; it has the ports of the versions.
struct SharedService {
    std::string ns;
    std::string name;
    std::vector<ServicePort> ports;
    std::vector<SplitOwner> owners;
    std::string weights;  // the texts of the request, such as "v1:30,v2:70"
};

// What the API server has of it.
struct SharedServiceState {
    std::string ns;
    std::string name;
    std::string address;  // its cluster IP
    std::string uid;
    std::string revision;  // the resourceVersion
    std::string weights;
    std::vector<SplitOwner> owners;
};

// Whether these numbers of pods split the connections by these weights. Both have one entry for
// each version.
bool is_split(std::span<const int> percents, std::span<const int> replicas);
// The smallest numbers of pods that do, and total at least `total`. At least one weight is not 0.
std::vector<int> smallest_replicas(std::span<const int> percents, int total);

// The part of each of these amounts in their sum, in percent, rounded; 0 if the sum is.
std::vector<int> parts_of_sum(std::span<const int> amounts);

// Sets ServingStatus::traffic of jobs of one name and namespace: by the route if there is one, or
// else by the shared Service, if `address` is not empty. `route` may be null.
void set_traffic(std::span<ServingStatus> jobs, const TrafficRoute* route,
                 const std::string& address);

// Whether a job can be deleted without a part of the traffic that reaches no server. `jobs`: all of
// its name, with itself. conflict with the command that makes it possible.
Result<> check_removal(const ServingStatus& job, std::span<const ServingStatus> jobs);

}  // namespace tessera::workload
