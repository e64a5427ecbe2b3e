// A pod that asks for cards and has none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/request/gang.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/request/host_ask.hpp"

namespace tessera {

struct PodAsk {
    PodUid uid;
    PodName name;
    PodRequest request;  // empty: the pod is none of our business
    int priority = 0;
    HostAsk host;
    std::optional<GangMembership> gang;
    std::string policy;  // by which it wants to be placed (FleetPolicyRow::name); empty: any

    friend bool operator==(const PodAsk&, const PodAsk&) = default;
};

using PodAskPtr = std::shared_ptr<const PodAsk>;

// invalid_argument, for its owner, where what it asks makes no sense.
Result<PodAsk> ask_of(const PodFacts& pod);

}  // namespace tessera
