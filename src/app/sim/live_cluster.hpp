// A live cluster's snapshot in the terms of the placement engine, by engine_terms.hpp: a share in
// bytes is another part of a card on cards of another size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/sim/card_company.hpp"
#include "app/sim/live_cards.hpp"
#include "app/sim/live_groups.hpp"
#include "domain/cluster/pod_ask.hpp"
#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "domain/placement/place.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// A pod on cards of one size.
struct LiveVariant {
    // One per container, for nodes that have no other cards, of models that the pod admits; empty:
    // it never fits on such cards.
    std::vector<Task> tasks;
};

struct LivePod {
    PodAsk ask;
    std::size_t row = 0;                 // in ClusterSnapshot::pods
    std::vector<LiveVariant> variants;   // parallel to LiveCards::sizes()
    std::vector<Task> learnt;            // on the most common cards that are large enough
    bool needs_cards_looked_at = false;  // its rules tell cards of one model apart, or sets of them
    bool is_whole = false;               // asks for whole cards alone: of any size
    int node = -1;                       // where it is; -1: it waits
    std::int32_t holds_milli = 0;        // while it is there

    [[nodiscard]] const CardRules& rules() const { return rules_of(ask.request); }
    // A single card needs no link.
    [[nodiscard]] bool insists_on_link() const;
};

// What is free, and who is where, with some of the pods in place.
struct LiveScene {
    std::vector<NodeLoad> loads;
    CardCompany company;
};

struct LiveCluster {
    std::vector<std::string> node_names;
    LiveCards cards_of_nodes;
    LiveScene now;                    // by the snapshot's bytes; nodes that are closed have no room
    std::vector<NodeLoad> seen;       // the same, with the room of those that are closed
    LiveScene empty;                  // without `pods`
    std::vector<LivePod> pods;        // by creation, the snapshot's order among equals
    LiveGroups groups;                // of `pods`
    std::vector<MixClass> mix;        // of all pods
    std::int64_t capacity_milli = 0;  // of all cards, those that are out of order too
    std::int64_t pinned_milli = 0;    // held by pods that the engine has no terms for
    int cards = 0;
    int unhealthy = 0;  // cards
    int pinned = 0;     // pods that the engine has no terms for: they stay where they are
    int choosing = 0;   // pods with a nodeSelector or node affinity, which nobody looks at here
    int ruled = 0;      // pods with rules on cards, which are kept
    bool tells_rules = true;  // ClusterSnapshot::tells_card_rules
    bool tells_links = true;  // and its tells_links
};

// unsupported: more kinds of cards than the engine tells apart; invalid_argument: rules on cards
// that make no sense.
Result<LiveCluster> live_cluster(const ClusterSnapshot& snapshot);

}  // namespace tessera
