// A pod that holds cards.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

// How sure we are of a pod's hold on its cards.
enum class Stage {
    reserved,  // ours, in memory; an attempt to write the Binding is under way
    bound,     // the last attempt was answered or is in doubt; the watch has not shown it yet
    seen,      // the API server showed the pod with this allocation
};

// One attempt to write a pod's Binding. What is said of an attempt has no effect once there is a
// later one.
struct Attempt {
    PodUid pod;
    int number = 0;  // from 1

    friend bool operator==(const Attempt&, const Attempt&) = default;
};

// A pod that holds shares on a node.
struct Tenant {
    PodUid uid;
    PodName name;
    Stage stage = Stage::reserved;
    int attempt = 0;        // the last one's number; 0 when none was ours
    bool in_doubt = false;  // an earlier attempt may still bind the pod
    int priority = 0;       // spec.priority; of Stage::seen, like the next
    bool terminating = false;
    Allocation allocation;
    std::optional<Allocation> resizing;  // what may have been written in its place, or may be yet
    std::vector<Hold> holds;             // of what covers both
    std::vector<CardGroup> groups;       // CardRules::groups of the pod
    std::optional<CardGroup> together;   // CardRules::together

    friend bool operator==(const Tenant&, const Tenant&) = default;
};

using TenantPtr = std::shared_ptr<const Tenant>;

// Adds what a tenant holds to the cards, or takes it away (`sign` -1). `cards` is parallel to
// `gpus`; what is on a card that the node does not have counts nowhere.
void count_holds(const Tenant& tenant, std::span<const Gpu> gpus, std::span<Card> cards, int sign);

}  // namespace tessera
