// Goal: what tessera defrag plans is what the controller would do. Method: random clusters under
// each policy; where the plan says that a pod would go is where filter and bind put it, asked about
// the cluster with the old pod still there and the moves before it done.
#include "app/scheduler/foreseen.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/placements.hpp"
#include "domain/placement/place.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Evenly, whatever the size of the case: small ones have nothing to move.
int pick(int from, int to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

class Played {
  public:
    Played() {
        const int nodes = pick(2, 6);
        for (int i = 0; i < nodes; ++i) {
            NodeInventory node = build::node("n" + std::to_string(i), pick(1, 5), gibibytes(16));
            node.host = {pick(2, 9) * 1'000, gibibytes(64)};
            snapshot_.nodes.push_back(node);
            snapshot_.traits.push_back({.name = node.name});
            for (std::size_t card = 0; card < node.gpus.size(); ++card)
                fill(node, static_cast<int>(card));
        }
        snapshot_.others.push_back(build::pod("hog", {}));
        snapshot_.others.back().node = snapshot_.nodes.front().name;
        snapshot_.others.back().host = {1'000, gibibytes(1)};
    }

    [[nodiscard]] const defrag::Snapshot& snapshot() const { return snapshot_; }
    [[nodiscard]] const PodFacts& pod(const PodUid& uid) const {
        return *std::ranges::find(snapshot_.pods, uid, &PodFacts::uid);
    }

  private:
    void fill(const NodeInventory& node, int card) {
        for (int left = 16; left > 0;) {
            const int gib = *rc::gen::element(2, 3, 5, 8, 9);
            if (gib > left || pick(0, 4) == 0) return;
            left -= gib;
            PodFacts pod = build::pod("p" + std::to_string(snapshot_.pods.size()),
                                      build::native(gibibytes(gib)));
            pod.host = {100 * pick(1, 9), gibibytes(1)};
            pod.created = "2026-01-01T00:00:" + std::to_string(10 + snapshot_.pods.size() % 50);
            pod.policy = *rc::gen::element<std::string>("", "", "binpack", "spread", "fgd");
            const Gpu& gpu = node.gpus[static_cast<std::size_t>(card)];
            pod = build::bound(
                pod,
                build::allocation(pod, node.name.str(),
                                  {{.uuid = gpu.uuid, .index = card, .memory = gibibytes(gib)}}));
            const bool is_stateful = pick(0, 4) == 0;
            snapshot_.states.push_back(
                {.uid = pod.uid,
                 .name = pod.name,
                 .node = pod.node,
                 .owner = defrag::Owner{is_stateful ? "StatefulSet" : "ReplicaSet", "s", "u"},
                 .allowed = pick(0, 5) > 0});
            snapshot_.pods.push_back(std::move(pod));
        }
    }

    defrag::Snapshot snapshot_;
};

// Where the controller would put a pod like this one now, and its cards.
struct Placed {
    NodeName node;
    std::vector<int> cards;
};

Placed placed_by_controller(ClusterState& state, const PodAsk& pod, const Placements& placements) {
    const auto view = state.view();
    std::vector<std::uint32_t> positions;
    for (const auto& node : view->nodes()) {
        if (pod.host.cpu_milli <= node->load.cpu_milli)
            positions.push_back(view->position(node->inventory.name.str()));
    }
    const auto rater = placements.rater_of(pod);
    const auto best = best_node(*view, positions, pod, rater.get());
    RC_ASSERT(best.has_value());
    const NodeView& node = *view->row(*best).node;
    Placer placer(pod.request);
    const auto chosen = rater == nullptr ? std::nullopt : rater->choose(node, node.offer(), pod);
    return {node.inventory.name, chosen ? chosen->cards : placer.try_node(node.offer())->cards};
}

PodFacts successor_of(const PodFacts& pod, const Placed& at) {
    PodFacts out = pod;
    out.uid = PodUid(pod.uid.str() + "-new");
    out.name.name += "-new";
    std::vector<GpuShare> shares;
    for (const int card : at.cards) {
        shares.push_back({.uuid = build::gpu(at.node.str(), card, gibibytes(16)).uuid,
                          .index = card,
                          .memory = (*pod.allocation)->containers.front().gpus.front().memory});
    }
    return build::bound(out, build::allocation(out, at.node.str(), std::move(shares)));
}

RC_GTEST_PROP(ForeseenProperty, ThePlanIsWhatTheControllerDoes, ()) {
    const Played played;
    const std::string policy =
        *rc::gen::element<std::string>("binpack", "spread", "best-fit", "dot-product", "packing",
                                       "clustering", "fgd", "expected-fill");
    const auto raters = foreseen_raters(played.snapshot(), policy);
    const auto answer = defrag::make_plan(defrag::cluster_of(played.snapshot(), raters),
                                          defrag::FreeCards{pick(1, 3)});
    const auto* plan = std::get_if<defrag::Plan>(&answer);
    RC_CLASSIFY(plan != nullptr, "planned under " + policy);
    if (plan == nullptr) return;
    ClusterState state = defrag::state_of(played.snapshot());
    Placements placements(policy);
    placements.learn(state.take_arrivals(), *state.view());
    for (const defrag::Move& move : plan->moves) {
        const PodFacts& old = played.pod(move.uid);
        const auto kind =
            std::ranges::find(played.snapshot().states, move.uid, &defrag::PodState::uid)
                ->owner->kind;
        if (kind == "StatefulSet") state.remove_pod(move.uid);
        const Placed at = placed_by_controller(state, build::ask(old), placements);
        RC_ASSERT(at.node == move.to);
        RC_ASSERT(at.cards == move.to_cards);
        state.set_pod(successor_of(old, at));
        state.remove_pod(move.uid);
    }
}

// Goal: a pod whose place is drawn by lot is not moved, and that is said.
TEST(Foreseen, ByLotNobodyMoves) {
    defrag::Snapshot snapshot{.nodes = {build::node("a", 2, gibibytes(16))}};
    PodFacts pod = build::pod("x", build::native(gibibytes(4)));
    pod.policy = "random";
    pod = build::bound(
        pod,
        build::allocation(
            pod, "a", {{.uuid = build::gpu("a", 0, gibibytes(16)).uuid, .memory = gibibytes(4)}}));
    snapshot.pods.push_back(pod);
    snapshot.states.push_back({.uid = pod.uid,
                               .name = pod.name,
                               .node = pod.node,
                               .owner = defrag::Owner{"ReplicaSet", "s", "u"},
                               .allowed = true});
    const auto raters = foreseen_raters(snapshot, "binpack");
    EXPECT_TRUE(defrag::cluster_of(snapshot, raters).movable.empty());
    EXPECT_EQ(
        defrag::stays_of(snapshot, raters),
        (std::map<std::string, int>{{"a policy that draws by lot where its new pod goes", 1}}));
}

}  // namespace
}  // namespace tessera
