// Goal: a replay of a live cluster puts each waiting pod where the controller would: the same node,
// and of its cards those that are near each other, or that are missed least. Method: random nodes
// with links, on which pods come one after the other, once through LivePlacer, once through
// best_node and ClusterState::reserve.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>

#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/placements.hpp"
#include "app/scheduler/ratings.hpp"
#include "app/sim/live_placer.hpp"
#include "app/sim/live_terms.hpp"
#include "app/sim/snapshot_builders_test.hpp"
#include "domain/cluster/state.hpp"

namespace tessera {
namespace {

// A thousandth is a whole number of bytes on it.
constexpr int kCardGib = 40;

// Linked as real nodes are: by NVLink in pairs or all, behind PCIe switches in pairs, half of them
// on each NUMA node.
SnapshotNode any_node(const std::string& name) {
    const int cards = *rc::gen::element(1, 2, 4, 6, 8);
    SnapshotNode out = build::node(name, std::vector<std::pair<const char*, int>>(
                                             static_cast<std::size_t>(cards), {"A100", kCardGib}));
    const auto links = *rc::gen::element<std::string>("none", "numa", "pairs", "pairs", "all");
    if (links == "none") return out;
    for (int card = 0; card < cards; ++card) {
        CardLinks& of = out.cards[static_cast<std::size_t>(card)].links;
        of.numa = card < cards / 2 ? 0 : 1;
        if (links == "numa" || cards == 1) continue;
        const auto self = std::uint64_t{1} << static_cast<unsigned>(card);
        const auto pair = std::uint64_t{1} << (static_cast<unsigned>(card) ^ 1U);
        const auto all = (std::uint64_t{1} << static_cast<unsigned>(cards)) - 1;
        of.pcie = pair;
        of.nvlink = links == "pairs" ? pair : all & ~self;
    }
    return out;
}

ClusterSnapshot any_snapshot() {
    ClusterSnapshot out;
    const int nodes = *rc::gen::inRange(1, 5);
    for (int i = 0; i < nodes; ++i)
        out.nodes.push_back(any_node("n" + std::to_string(i)));
    const int pods = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(4, 24));
    for (int i = 0; i < pods; ++i) {
        const std::string number = std::to_string(100 + i);  // in the order of their creation
        SnapshotPod pod = build::pod("p" + number, *rc::gen::element(0, 0, 4, 10, 20),
                                     *rc::gen::element(1, 1, 2, 2, 3, 4));
        if (*rc::gen::inRange(0, 4) == 0)
            pod.card_rules.links = *rc::gen::element<std::string>("nvlink", "pcie", "numa");
        if (*rc::gen::inRange(0, 6) == 0) pod.asks.push_back(pod.asks.front());
        out.pods.push_back(std::move(pod));
    }
    return out;
}

CardSet cards_of(const Allocation& allocation) {
    CardSet out = 0;
    for (const ContainerAllocation& container : allocation.containers) {
        for (const GpuShare& share : container.gpus)
            out = static_cast<CardSet>(out | card_bit(share.index));
    }
    return out;
}

// The controller's policy, which learns of each pod before it is asked about it.
class Policy {
  public:
    Policy(const FleetPolicyRow& row, const LiveCluster& cluster) : placements_(row.name) {
        if (row.mix != PolicyMix::learnt)
            told_ = std::make_shared<Ratings>(row.make({.mix = cluster.mix}));
    }

    std::shared_ptr<const NodeRater> of(const PodAsk& pod, ClusterState& state) {
        if (told_ != nullptr) {
            RC_ASSERT(told_->catch_up(*state.view(), 1'000));
            return told_;
        }
        Arrivals arrivals = state.take_arrivals();
        arrivals.pods = {{.created = {}, .pod = pod}};
        placements_.learn(std::move(arrivals), *state.view());
        return placements_.rater_of(pod);
    }

  private:
    std::shared_ptr<Ratings> told_;  // the mix, as a replay is
    Placements placements_;
};

// Nothing where the pod finds no room.
std::optional<Allocation> place(ClusterState& state, const PodAsk& pod, Policy& policy) {
    std::vector<std::uint32_t> positions;
    const auto view = state.view();
    for (const auto& node : view->nodes())
        positions.push_back(view->position(node->inventory.name.str()));
    // A slow policy rates no more than some at once, and these are fewer.
    const auto rater = policy.of(pod, state);
    const auto best = best_node(*view, positions, pod, rater.get());
    if (!best) return std::nullopt;
    const auto made = state.reserve(pod, view->row(*best).node->inventory.name, rater.get());
    RC_ASSERT(made.has_value());
    return made->allocation;
}

RC_GTEST_PROP(SnapshotAgreement, ReplayPlacesAsTheControllerDoes, ()) {
    const ClusterSnapshot snapshot = any_snapshot();
    const auto cluster = live_cluster(snapshot);
    RC_ASSERT(cluster.has_value());
    for (const FleetPolicyRow& row : fleet_policies()) {
        // Left to chance, or told what no controller is.
        if (row.name == "random" || row.is_simulated_only) continue;
        LivePlacer placer(*cluster, cluster->now, row, {});
        Policy policy(row, *cluster);
        ClusterState state;
        for (const SnapshotNode& node : snapshot.nodes)
            state.set_node(view_of(node, 0, {}).inventory);
        for (std::size_t i = 0; i < cluster->pods.size(); ++i) {
            const bool found = placer.place({.pods = {i}, .size = 1});
            const auto given = place(state, cluster->pods[i].ask, policy);
            RC_LOG() << row.name << ", " << snapshot.pods[cluster->pods[i].row].name.str() << "\n";
            RC_ASSERT(found == given.has_value());
            if (!found) continue;
            const Placed& placed = placer.places().at(i).placed;
            RC_ASSERT(cluster->node_names[static_cast<std::size_t>(placed.node)] ==
                      given->node.str());
            RC_ASSERT(placed.cards == cards_of(*given));
        }
    }
}

}  // namespace
}  // namespace tessera
