// What a pod's API object contains about GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/allocation/resize.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/scheduling_rules.hpp"
#include "domain/request/container_spec.hpp"
#include "domain/request/gang.hpp"
#include "domain/request/host_request.hpp"

namespace tessera {

// What the scheduler of a former system wrote into a pod: node units by GPU index, each GPU once.
// Pods that it placed keep their GPUs when Tessera takes over the cluster.
struct LegacyAllocation {
    const Dialect* dialect = nullptr;  // of that system; never null

    struct Share {
        int index = 0;
        std::int64_t units = 0;

        friend bool operator==(const Share&, const Share&) = default;
    };
    std::vector<Share> shares;

    friend bool operator==(const LegacyAllocation&, const LegacyAllocation&) = default;
};

// The annotation of a pod that names its placement policy.
inline constexpr std::string_view kPlacementPolicy = "tessera.dev/placement-policy";

struct PodInfo {
    PodUid uid;
    PodName name;
    NodeName node;        // empty until bound
    std::string created;  // metadata.creationTimestamp: RFC 3339 in UTC, so it sorts as text
    NodeName nominated;   // status.nominatedNodeName; usually empty
    bool is_nominated_ahead = false;  // by a nominator of ours, ahead of its turn
    int priority = 0;
    bool preempts = true;      // it may preempt other pods (preemptionPolicy)
    bool finished = false;     // Succeeded or Failed: its containers do not run again
    bool started = false;      // a GPU container of it was created, so it had its GPUs
    bool terminating = false;  // has a deletionTimestamp; keeps its GPUs until it is gone
    bool gated = false;        // has schedulingGates: it is not placed yet
    std::vector<ContainerSpec> containers;  // as GpuTexts::containers (domain/dialect/dialect.hpp)
    Result<ContainerRequests> request;      // without the rules of `gpu_rules`
    HostRequest host;                       // of all its containers
    SchedulingRulesPtr scheduling;          // of a pod on no node that requests GPUs; else null
    std::string policy;                     // the text of kPlacementPolicy; empty: none
    GpuRuleTexts gpu_rules;
    std::vector<std::string> unknown_annotations;  // sentences about its unknown annotations
    std::optional<Result<GangMembership>> gang;    // if it says that it belongs to one
    std::string gang_named;                        // the gang's name, even if `gang` is an error
    std::optional<Result<Allocation>> allocation;  // the annotation, if there is one
    std::optional<LegacyAllocation> legacy;
    bool is_guarded = false;  // the guard enforces its shares
    // What its user requests in place of the allocation, unless that was refused.
    std::optional<Result<RequestedShares>> resize;
};

// Whether the pod requests GPUs, validly or not. The annotations of other pods are not trusted: any
// user can write them.
bool asks_for_gpus(const PodInfo& pod);

// The annotation, if it was made for exactly this pod on its node; a copied manifest contains the
// annotation of another pod. Else null.
const Allocation* own_allocation(const PodInfo& pod);

// Whether the annotations of a former system say which GPUs the pod has. If that system's plugin
// serves the node, they do, whatever Tessera's annotation says. After a takeover they count for
// pods that its plugin has started; Tessera starts no container by them.
bool is_legacy(const PodInfo& pod, InventorySource served_by);

}  // namespace tessera
