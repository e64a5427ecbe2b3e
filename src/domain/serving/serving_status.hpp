// What the cluster has of a serving job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/serving/serving.hpp"
#include "domain/workload/workload_pod.hpp"

namespace tessera::workload {

struct ServicePort {
    std::string name;
    int port = 0;
    int node_port = 0;  // 0: none
};

// What a job gets of the traffic of the address that the versions of its name share.
struct TrafficPart {
    bool by_route = false;    // an HTTPRoute splits it; or else a Service does
    std::string address;      // the route's host name (empty: every host), or the Service's address
    bool takes_part = false;  // false: it gets nothing, whatever pods it has
    bool is_alone = false;    // no other version takes part
    int percent = 0;          // of a Service: by the pods that are available now
    std::string why;          // why the Gateway does not take the route; empty if it does
};

struct ServingStatus {
    ServingName id;
    std::string ns;
    std::string object;    // the name of its Deployment
    std::string uid;       // of the Deployment
    std::string recorded;  // the text that has `arguments`
    int desired = 0;
    int available = 0;
    int updated = 0;          // pods as the job describes them now; the others are older
    bool is_settled = false;  // all its pods are so, and available
    bool is_deleting = false;
    std::int64_t created_s = 0;
    Gpus gpus;  // of each pod
    bool has_service = false;
    std::string address;  // the Service's cluster IP
    std::vector<ServicePort> ports;
    std::vector<std::string> arguments;  // of `tessera serve`
    std::vector<WorkloadPod> pods;
    // The ConfigMap with its files; empty: none. The files as path and key in it.
    std::string files;
    std::vector<std::pair<std::string, std::string>> file_keys;
    // Whether the shared Service of a split selects its pods; nothing: no label says so.
    std::optional<bool> in_split;
    std::optional<TrafficPart> traffic;    // nothing: the versions of its name share no address
    std::optional<ScalingStatus> scaling;  // nothing: no autoscaling, or the user may not read it
    std::string why;  // why it has fewer pods than desired; empty if it has them
};

}  // namespace tessera::workload
