// What a pod's API object says that concerns GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/allocation/resize.hpp"
#include "domain/cluster/node.hpp"
#include "domain/request/dialect.hpp"
#include "domain/request/gang.hpp"
#include "domain/request/host_ask.hpp"

namespace tessera {

// The annotations of gpushare's own scheduler: node units by card index, each card once. Pods that
// it placed keep their cards when Tessera takes a cluster over.
struct LegacyAllocation {
    struct Share {
        int index = 0;
        std::int64_t units = 0;

        friend bool operator==(const Share&, const Share&) = default;
    };
    std::vector<Share> shares;

    friend bool operator==(const LegacyAllocation&, const LegacyAllocation&) = default;
};

// The annotation of a pod that names the policy which places it.
inline constexpr std::string_view kPlacementPolicy = "tessera.dev/placement-policy";

struct PodFacts {
    PodUid uid;
    PodName name;
    NodeName node;        // empty until bound
    std::string created;  // metadata.creationTimestamp: RFC 3339 in UTC, so it sorts as text
    NodeName nominated;   // where others end for it (status.nominatedNodeName); empty mostly
    int priority = 0;
    bool preempts = true;                   // others may end for it (preemptionPolicy)
    bool finished = false;                  // Succeeded or Failed: its containers are gone for good
    bool started = false;                   // a GPU container of it has been made: it had its cards
    bool terminating = false;               // has a deletionTimestamp; holds its cards all the same
    bool gated = false;                     // has schedulingGates: nobody places it yet
    std::vector<ContainerSpec> containers;  // init containers first; only their GPU limits
    HostAsk host;                           // of all its containers
    std::string policy;                     // the text of kPlacementPolicy; empty: none
    CardRuleTexts card_rules;
    std::vector<std::string> slips;                // sentences on annotations that nobody reads
    std::optional<Result<GangMembership>> gang;    // where it says that it is of one
    std::string gang_named;                        // as it says, also where `gang` is an error
    std::optional<Result<Allocation>> allocation;  // the annotation, where there is one
    std::optional<LegacyAllocation> legacy;
    bool is_guarded = false;  // its shares are held by the guard
    // What its user wants to have in place of the allocation, where it was not refused.
    std::optional<Result<ResizeWish>> resize;
};

// Whether the pod asks for GPUs, sensibly or not. What others carry in their annotations is
// anybody's text, and counts nowhere.
bool asks_for_gpus(const PodFacts& pod);

// The annotation, where it was made for this very pod on the node that it is on: a copied manifest
// brings its original's along. Null otherwise.
const Allocation* own_allocation(const PodFacts& pod);

// Whether the pod holds what gpushare's annotations say. Where gpushare's plugin serves the node,
// it goes by them, whatever stands in ours; after a takeover they count for the pods that it has
// started, since ours starts nothing by them.
bool is_gpushares(const PodFacts& pod, InventorySource served_by);

}  // namespace tessera
