// A cluster at one moment, for the simulator (docs/formats/snapshot.md): nodes with their cards,
// and the pods that ask for GPUs, with what each asks for and where it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster/pod_facts.hpp"

namespace tessera {

struct SnapshotCard {
    std::string model;    // empty: nobody tells
    Bytes memory;         // what shares may hold together (Gpu::capacity)
    Bytes excess;         // Gpu::excess
    bool healthy = true;  // Gpu::usable
    GpuUuid uuid;         // empty: nobody tells
    CardLinks links;      // by the places of the cards among SnapshotNode::cards

    friend bool operator==(const SnapshotCard&, const SnapshotCard&) = default;
};

struct SnapshotNode {
    std::string name;
    MemoryUnit unit = MemoryUnit::gib;
    HostAsk host;                     // what pods may take of it together
    HostAsk others;                   // that pods without GPUs take of it
    bool closed = false;              // takes no new pods, whatever room there is
    std::vector<SnapshotCard> cards;  // ascending index

    friend bool operator==(const SnapshotNode&, const SnapshotNode&) = default;
};

struct SnapshotAsk {
    ContainerKind kind = ContainerKind::app;
    int gpus = 1;
    MemoryAsk memory;  // of each card
    Percent cores;     // of each card

    friend bool operator==(const SnapshotAsk&, const SnapshotAsk&) = default;
};

// What a container holds of one card.
struct SnapshotShare {
    int card = 0;  // its place among SnapshotNode::cards
    Bytes memory;
    Percent cores;
    bool whole = false;

    friend bool operator==(const SnapshotShare&, const SnapshotShare&) = default;
};

struct SnapshotHolder {
    ContainerKind kind = ContainerKind::app;
    std::vector<SnapshotShare> shares;

    friend bool operator==(const SnapshotHolder&, const SnapshotHolder&) = default;
};

struct SnapshotPod {
    PodName name;
    std::string created;  // RFC 3339 in UTC; empty where nobody tells
    std::string deleted;  // when it was told to end; empty when it was not
    std::string node;     // empty: it waits
    HostAsk host;
    std::optional<GangMembership> gang;  // of its namespace
    bool chooses_nodes = false;          // by nodeSelector or node affinity
    CardRuleTexts card_rules;            // parse_card_rules() makes sense of them
    std::vector<SnapshotAsk> asks;       // per container with GPUs, in the order of their start
    std::vector<SnapshotHolder> holds;   // per container; empty while it waits

    friend bool operator==(const SnapshotPod&, const SnapshotPod&) = default;
};

// Pods with GPUs that a snapshot does not tell of, by the reason.
struct SnapshotLeftOut {
    int gated = 0;    // wait, with scheduling gates
    int ending = 0;   // wait, and are told to end
    int faulty = 0;   // wait, and ask for what makes no sense
    int unknown = 0;  // are on a node, and nobody can tell on which cards

    [[nodiscard]] int pods() const { return gated + ending + faulty + unknown; }
    friend bool operator==(const SnapshotLeftOut&, const SnapshotLeftOut&) = default;
};

struct ClusterSnapshot {
    std::string taken;             // RFC 3339 in UTC
    bool tells_card_rules = true;  // false: of a release that did not tell rules and UUIDs
    bool tells_links = true;       // false: nor, or not yet, how cards are linked
    std::vector<SnapshotNode> nodes;
    std::vector<SnapshotPod> pods;
    SnapshotLeftOut left_out;

    friend bool operator==(const ClusterSnapshot&, const ClusterSnapshot&) = default;
};

// A node and a pod as they were read.
struct SeenNode {
    NodeInventory inventory;
    bool closed = false;
};
struct SeenPod {
    PodFacts facts;
    std::string deleted;
    bool chooses_nodes = false;
};

// Nodes without cards count as well: pods without GPUs may be on them, and nothing else. Left out:
// pods that are finished or ask for no GPU; and, counted, those of SnapshotLeftOut. Pods that hold
// cards nobody can tell close their node (ClusterState). Of a pod that runs, annotations that have
// come to make no sense since count as not there.
ClusterSnapshot snapshot_of(std::span<const SeenNode> nodes, std::span<const SeenPod> pods);

// For people: "3 pods with GPUs are left out: 2 with scheduling gates, ..."; empty: none.
std::string left_out_text(const SnapshotLeftOut& left_out);

// The same with "node-1", "pod-1", "space-1", "gang-1", "card-1", "group-1", ... for the names of
// nodes, pods, namespaces, gangs, cards (UUIDs) and groups of rules. Models keep their names.
ClusterSnapshot anonymous(ClusterSnapshot snapshot);

}  // namespace tessera
