// A pod that requests GPUs and has none yet.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/request/gang.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/request/host_request.hpp"

namespace tessera {

struct PodRequest {
    PodUid uid;
    PodName name;
    ContainerRequests containers;  // empty: the pod requests no GPU
    int priority = 0;
    HostRequest host;
    std::optional<GangMembership> gang;
    std::string policy;   // the requested policy (PlacementPolicyRow::name); empty: any
    std::string created;  // PodInfo::created

    friend bool operator==(const PodRequest&, const PodRequest&) = default;
};

using PodRequestPtr = std::shared_ptr<const PodRequest>;

// Errors: invalid_argument, with a text for the pod's user, if the request is invalid.
Result<PodRequest> request_of(const PodInfo& pod);

}  // namespace tessera
