// What the inspect and top commands show, computed from the API's objects alone: no daemon of ours
// needs to answer for a user to see his cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_facts.hpp"

namespace tessera {

// One pod on one node. Amounts in Bytes are memory.
struct PodUsage {
    PodUid uid;
    PodName name;
    std::vector<Bytes> on_card;          // parallel to NodeUsage::inventory.gpus
    std::vector<Percent> cores_on_card;  // parallel to on_card
    Bytes elsewhere;                     // on cards that the node does not show
    Bytes pending;                       // asked for, and no card is named
};

struct NodeUsage {
    NodeInventory inventory;
    std::vector<PodUsage> pods;  // by name, then namespace

    // What is above limits that were lowered, too: nobody can have it.
    [[nodiscard]] Bytes held(std::size_t card) const;
    [[nodiscard]] Percent cores_held(std::size_t card) const;
    [[nodiscard]] Bytes pending() const;
};

// The nodes that have GPUs, by name, and their pods that ask for GPUs. An allocation counts as it
// does for the controller: the pod's own, made for the node that it is on.
std::vector<NodeUsage> usage_of(std::vector<NodeInventory> nodes, std::span<const PodFacts> pods);

}  // namespace tessera
