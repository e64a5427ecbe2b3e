// Goal: a plan can be carried out one move after the other, reaches what is asked for, and no
// shorter one does.
#include "domain/defrag/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/last_rater.hpp"

namespace tessera::defrag {
namespace {

// Pods of so many GiB on cards, as a picture of the cluster.
class Scene {
  public:
    Scene& node(const std::string& name, int cards, int gib = 16) {
        nodes_.emplace(name, build::node(name, cards, gibibytes(gib)));
        return *this;
    }
    // On these cards of a node, `gib` of each.
    Scene& pod(const std::string& name, const std::string& node, std::vector<int> cards, int gib,
               bool movable = true) {
        const PodFacts pod =
            build::pod(name, build::native(gibibytes(gib), static_cast<int>(cards.size())));
        std::vector<GpuShare> shares;
        for (const int card : cards) {
            const Gpu& gpu = nodes_.at(node).gpus[static_cast<std::size_t>(card)];
            shares.push_back({.uuid = gpu.uuid, .index = card, .memory = gibibytes(gib)});
        }
        pods_.push_back(build::bound(pod, build::allocation(pod, node, std::move(shares))));
        if (movable) movable_.push_back({.ask = build::ask(pod), .barred = {}});
        return *this;
    }
    Scene& close(const std::string& node) {
        closed_.insert(NodeName(node));
        return *this;
    }
    [[nodiscard]] Cluster cluster() const {
        ClusterState state;
        for (const auto& [name, node] : nodes_)
            state.set_node(node);
        for (const PodFacts& pod : pods_)
            state.set_pod(pod);
        return {state.view()->nodes(), closed_, movable_};
    }

  private:
    std::map<std::string, NodeInventory> nodes_;
    std::vector<PodFacts> pods_;
    std::vector<MovablePod> movable_;
    std::set<NodeName> closed_;
};

RoomFor room_for(const std::vector<ContainerSpec>& containers) {
    return {build::ask(build::pod("waits", containers))};
}

Plan planned(const Scene& scene, const Goal& goal) {
    const auto answer = make_plan(scene.cluster(), goal);
    const auto* none = std::get_if<NoPlan>(&answer);
    EXPECT_EQ(none, nullptr) << none->reason;
    return none == nullptr ? std::get<Plan>(answer) : Plan{};
}

std::string refused(const Scene& scene, const Goal& goal) {
    const auto answer = make_plan(scene.cluster(), goal);
    const auto* none = std::get_if<NoPlan>(&answer);
    EXPECT_NE(none, nullptr);
    return none == nullptr ? "" : none->reason;
}

std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> out;
    for (const Move& move : plan.moves)
        out.push_back(move.pod.name);
    return out;
}

using Names = std::vector<std::string>;

TEST(DefragPlan, FreesTheCardOfTheSmallestPod) {
    Scene scene;
    scene.node("a", 2).node("b", 1);
    scene.pod("large", "a", {0}, 9).pod("small", "a", {1}, 4).pod("middle", "b", {0}, 6);
    const Plan plan = planned(scene, FreeCards{1});
    ASSERT_EQ(names(plan), Names{"small"});
    EXPECT_EQ(plan.moves.front(), (Move{.uid = PodUid("uid-small"),
                                        .pod = {"default", "small"},
                                        .node = NodeName("a"),
                                        .cards = {1},
                                        .size = gibibytes(4),
                                        .to = NodeName("a"),
                                        .to_cards = {0}}));
    EXPECT_EQ(plan.before, (Room{0, gibibytes(12)}));
    EXPECT_EQ(plan.after, (Room{1, gibibytes(16)}));
    EXPECT_TRUE(plan.fewest);
}

TEST(DefragPlan, MakesRoomForAPod) {
    Scene scene;
    scene.node("a", 2).node("b", 2);
    scene.pod("a0", "a", {0}, 8).pod("a1", "a", {1}, 10).pod("b0", "b", {0}, 6);
    scene.pod("b1", "b", {1}, 8, false);
    const Plan whole = planned(scene, room_for(build::whole()));
    EXPECT_EQ(names(whole), Names{"b0"});
    EXPECT_EQ(whole.fits_on, NodeName("b"));
    EXPECT_TRUE(whole.fewest);
    const Plan small = planned(scene, room_for(build::native(gibibytes(10))));
    EXPECT_TRUE(small.moves.empty());
    EXPECT_EQ(small.fits_on, NodeName("b"));
    const Plan both = planned(scene, room_for(build::whole(2)));
    EXPECT_EQ(names(both).size(), 2U) << "node a: its pods fit beside those on b";
    EXPECT_EQ(both.fits_on, NodeName("a"));
}

// Goal: who is in the way of the only place moves first.
TEST(DefragPlan, MovesAreChained) {
    Scene scene;
    scene.node("a", 1).node("b", 1, 12).node("c", 1, 5);
    scene.pod("first", "a", {0}, 10).pod("second", "b", {0}, 5);
    const Plan plan = planned(scene, room_for(build::native(gibibytes(14))));
    EXPECT_EQ(names(plan), (Names{"second", "first"}));
    EXPECT_EQ(plan.moves[0].to, NodeName("c"));
    EXPECT_EQ(plan.moves[1].to, NodeName("b"));
    EXPECT_TRUE(plan.fewest);
}

TEST(DefragPlan, PodsOfSeveralCards) {
    Scene scene;
    scene.node("a", 2).node("b", 2);
    scene.pod("wide", "a", {0, 1}, 3).pod("b0", "b", {0}, 9).pod("b1", "b", {1}, 9);
    const Plan plan = planned(scene, FreeCards{2});
    ASSERT_EQ(names(plan), Names{"wide"});
    EXPECT_EQ(plan.moves.front().size, gibibytes(6));
    EXPECT_EQ(plan.moves.front().to_cards, (std::vector{0, 1}));
    EXPECT_TRUE(plan.fewest) << "no goal needs less than one move";
}

TEST(DefragPlan, SaysWhyThereIsNone) {
    Scene scene;
    scene.node("a", 1).node("b", 1);
    EXPECT_EQ(refused(scene, FreeCards{1}), "all 2 cards are free already");
    EXPECT_EQ(refused(Scene().node("a", 1), FreeCards{1}), "the only card is free already");
    EXPECT_EQ(refused(Scene(), FreeCards{1}), "no node has a card that takes new pods");
    EXPECT_EQ(refused(Scene().node("a", 1).close("a"), FreeCards{1}),
              "no node has a card that takes new pods");
    EXPECT_EQ(refused(Scene().node("a", 2).pod("x", "a", {0}, 9, false), FreeCards{1}),
              "no pod may be moved");
    Scene held;
    held.node("a", 1).pod("x", "a", {0}, 4, false).pod("y", "a", {0}, 4);
    EXPECT_EQ(refused(held, FreeCards{1}),
              "1 more whole card is asked for, and without the one pod that may be moved there "
              "would be no more");
    scene.pod("x", "a", {0}, 10).pod("y", "b", {0}, 8);
    EXPECT_EQ(refused(scene, FreeCards{1}),
              "one of the 2 pods that may be moved would have to move, and where its new pod would "
              "go nothing is gained");
    EXPECT_EQ(refused(scene, FreeCards{3}),
              "3 more whole cards are asked for, and without the 2 pods that may be moved there "
              "would be 2 more");
    EXPECT_EQ(refused(scene, room_for(build::native(gibibytes(20)))),
              "pod default/waits would fit nowhere even without the 2 pods that may be moved; the "
              "largest room on a card would be 16Gi");
    Scene pinned;
    pinned.node("a", 1).pod("x", "a", {0}, 10, false);
    EXPECT_EQ(refused(pinned, room_for(build::whole())),
              "pod default/waits fits nowhere, and no pod may be moved; the largest room on a card "
              "is 6Gi");
}

// Goal: a pod is planned to where its policy would place it, and not into the hole that the best
// fit has for it; where it would take a free card, or its own, no card comes free.
TEST(DefragPlan, GoesByThePolicyOfThePod) {
    Scene scene;
    scene.node("a", 3);
    scene.pod("x", "a", {0}, 4).pod("y", "a", {1}, 10, false).pod("z", "a", {2}, 8, false);
    Cluster cluster = scene.cluster();
    const auto to_of = [&](const Goal& goal) {
        const auto answer = make_plan(cluster, goal);
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? std::vector<int>() : plan->moves.front().to_cards;
    };
    EXPECT_EQ(to_of(FreeCards{1}), std::vector{1}) << "the best fit";
    const auto last = std::make_shared<const LastRater>();
    cluster.movable.front().rater = last;
    EXPECT_EQ(to_of(FreeCards{1}), std::vector{2});
    const auto answer = make_plan(cluster, FreeCards{1});
    EXPECT_TRUE(std::get<Plan>(answer).fewest);
    scene.node("b", 1);
    cluster.nodes = scene.cluster().nodes;
    EXPECT_EQ(to_of(FreeCards{1}), std::vector<int>()) << "it would take the free card of b";
    cluster.movable.front().rater = nullptr;
    EXPECT_EQ(to_of(FreeCards{1}), std::vector{1});
}

// Goal: a pod that the best fit would put back on its own card is not moved, whatever other room
// there is. Where it is made once the old one is gone, it is placed when that one's card is free;
// where it is not known when it is made, it is moved only to where it would go both ways.
TEST(DefragPlan, WhoWouldComeBackStays) {
    const auto to_of = [](int gib_of_a, Replacement made) {
        Scene scene;
        scene.node("a", 1, gib_of_a).node("b", 1).pod("x", "a", {0}, 8);
        scene.pod("y", "b", {0}, 7, false);
        Cluster cluster = scene.cluster();
        cluster.movable.front().made = made;
        const auto answer = make_plan(cluster, FreeCards{1});
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? NodeName() : plan->moves.front().to;
    };
    EXPECT_EQ(to_of(16, Replacement::at_once), NodeName()) << "of its own card nothing would be";
    EXPECT_EQ(to_of(16, Replacement::once_gone), NodeName("b")) << "of its own 8 GiB would be";
    EXPECT_EQ(to_of(16, Replacement::unknown), NodeName()) << "it might come back";
    EXPECT_EQ(to_of(8, Replacement::at_once), NodeName("b"));
    EXPECT_EQ(to_of(8, Replacement::once_gone), NodeName()) << "its own card is the best fit";
    EXPECT_EQ(to_of(8, Replacement::unknown), NodeName());
    EXPECT_EQ(to_of(12, Replacement::unknown), NodeName("b")) << "both ways";
}

// Goal: a pod is planned to no node that lacks the CPU or memory for it, and what it takes there is
// gone for the next.
TEST(DefragPlan, CpuAndMemoryCount) {
    Scene scene;
    scene.node("a", 2).node("b", 1).node("c", 1);
    scene.pod("x", "a", {0}, 4).pod("y", "a", {1}, 4).pod("fix", "b", {0}, 8, false);
    scene.pod("fiy", "c", {0}, 4, false);
    Cluster cluster = scene.cluster();
    for (MovablePod& pod : cluster.movable)
        pod.ask.host = {1'000, gibibytes(1)};
    const auto with_cpu = [&](std::int64_t cpu_of_b, Bytes memory_of_b) {
        for (auto& node : cluster.nodes) {
            NodeView view = *node;
            const bool is_b = view.inventory.name.str() == "b";
            view.inventory.host = {8'000, gibibytes(32)};
            view.load.cpu_milli = is_b ? static_cast<int>(cpu_of_b) : 8'000;
            view.load.memory_mib =
                static_cast<int>((is_b ? memory_of_b : gibibytes(32)).count / kMiB);
            node = std::make_shared<const NodeView>(std::move(view));
        }
        const auto answer = make_plan(cluster, FreeCards{2});
        std::vector<std::string> out;
        if (const auto* plan = std::get_if<Plan>(&answer)) {
            for (const Move& move : plan->moves)
                out.push_back(move.to.str());
        }
        return out;
    };
    EXPECT_EQ(with_cpu(8'000, gibibytes(32)), (Names{"b", "b"}));
    EXPECT_EQ(with_cpu(1'500, gibibytes(32)), (Names{"b", "c"})) << "for one of them";
    EXPECT_EQ(with_cpu(8'000, mebibytes(1'025)), (Names{"b", "c"}));
    EXPECT_EQ(with_cpu(500, gibibytes(32)), (Names{"c", "c"}));
}

// Goal: cards with room are no room where the node has no CPU left for who waits.
TEST(DefragPlan, WhoWaitsNeedsCpuToo) {
    Scene scene;
    scene.node("a", 1).node("b", 1);
    scene.pod("x", "a", {0}, 4).pod("fix", "b", {0}, 10, false);
    Cluster cluster = scene.cluster();
    for (auto& node : cluster.nodes) {
        NodeView view = *node;
        view.inventory.host = {4'000, gibibytes(32)};
        view.load.cpu_milli = view.inventory.name.str() == "a" ? 500 : 4'000;
        view.load.memory_mib = 32 * 1024;
        node = std::make_shared<const NodeView>(std::move(view));
    }
    cluster.movable.front().ask.host = {3'500, gibibytes(1)};
    RoomFor room = room_for(build::native(gibibytes(8)));
    room.pod.host = {1'000, gibibytes(1)};
    const auto answer = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(answer));
    EXPECT_EQ(names(std::get<Plan>(answer)), Names{"x"});
    EXPECT_EQ(std::get<Plan>(answer).fits_on, NodeName("a"));
    room.pod.host.cpu_milli = 4'001;
    EXPECT_TRUE(std::holds_alternative<NoPlan>(make_plan(cluster, room)));
}

// Goal: who waits may come before a nominee, and the new pod of who makes room for it behind: each
// is planned to what is left to it.
TEST(DefragPlan, NomineesComeBeforeSomeAndNotBeforeOthers) {
    Scene scene;
    scene.node("a", 1).node("b", 1).node("c", 1);
    scene.pod("x", "a", {0}, 10).pod("fix", "b", {0}, 2, false);
    Cluster cluster = scene.cluster();
    NodeView view = *cluster.nodes[1];
    PodAsk nominee = build::ask(build::pod("nominee", build::native(gibibytes(8))));
    nominee.priority = 5;
    view.nominees = {std::make_shared<const PodAsk>(nominee)};
    cluster.nodes[1] = std::make_shared<const NodeView>(std::move(view));
    RoomFor room = room_for(build::whole());
    room.barred = std::make_shared<const std::set<NodeName>>(std::set{NodeName("c")});
    room.pod.priority = 10;
    const auto to_of = [&](int priority) {
        cluster.movable.front().ask.priority = priority;
        const auto answer = make_plan(cluster, room);
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? NodeName() : plan->moves.front().to;
    };
    EXPECT_EQ(to_of(0), NodeName("c")) << "on b 6 GiB are left to it";
    EXPECT_EQ(to_of(6), NodeName("b")) << "14 GiB are: the best fit";
    room.pod.request = build::request(build::native(gibibytes(14)));
    const auto fits = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(fits));
    EXPECT_TRUE(std::get<Plan>(fits).moves.empty()) << "who waits comes before the nominee";
}

// Goal: a search that may try no more, steps or prices, says that it has not looked at all moves.
TEST(DefragPlan, EndsWhereItsEffortDoes) {
    Scene scene;
    scene.node("a", 1).node("b", 1, 12).node("c", 1, 5);
    scene.pod("first", "a", {0}, 10).pod("second", "b", {0}, 5);
    const auto answer_of = [&](const Effort& effort) {
        return make_plan(scene.cluster(), room_for(build::native(gibibytes(14))), effort);
    };
    EXPECT_TRUE(std::holds_alternative<Plan>(answer_of({})));
    for (const Effort& effort :
         {Effort{.steps = 1}, Effort{.steps_per_length = 1}, Effort{.prices = 1}}) {
        const auto answer = answer_of(effort);
        ASSERT_TRUE(std::holds_alternative<NoPlan>(answer));
        EXPECT_NE(std::get<NoPlan>(answer).reason.find("no moves were found"), std::string::npos);
    }
}

// Goal: more moves than are needed, found since too little was tried, are not called the fewest.
TEST(DefragPlan, InHasteIsNotCalledTheFewest) {
    Scene scene;
    scene.node("a", 1, 8).node("b", 1, 6).node("c", 1, 6).node("d", 1, 8).node("e", 1, 4);
    scene.pod("x", "a", {0}, 3).pod("y", "b", {0}, 4).pod("z", "c", {0}, 4);
    const Plan plan = planned(scene, FreeCards{1});
    EXPECT_EQ(plan.moves.size(), 2U);
    EXPECT_TRUE(plan.fewest);
    const auto answer = make_plan(scene.cluster(), FreeCards{1}, {.steps_per_length = 6});
    ASSERT_TRUE(std::holds_alternative<Plan>(answer));
    EXPECT_EQ(std::get<Plan>(answer).moves.size(), 3U);
    EXPECT_FALSE(std::get<Plan>(answer).fewest);
}

TEST(DefragPlan, ClosedNodesTakeNobody) {
    Scene scene;
    scene.node("a", 1).node("b", 1).pod("x", "a", {0}, 4).pod("y", "b", {0}, 6, false);
    EXPECT_EQ(names(planned(scene, FreeCards{1})), Names{"x"});
    scene.close("b");
    EXPECT_EQ(refused(scene, FreeCards{1}),
              "the one pod that may be moved would have to move, and where its new pod would go "
              "nothing is gained");
}

// Goal: a pod goes nowhere where it may not run, and no room is made there for one that waits.
TEST(DefragPlan, BarredNodes) {
    Scene scene;
    scene.node("a", 1).node("b", 1).node("c", 1);
    scene.pod("x", "a", {0}, 4).pod("y", "b", {0}, 6, false).pod("z", "c", {0}, 9);
    Cluster cluster = scene.cluster();
    const auto bar = [](const char* node) {
        return std::make_shared<const std::set<NodeName>>(std::set{NodeName(node)});
    };
    for (MovablePod& pod : cluster.movable)
        pod.barred = bar("c");
    const auto plan = make_plan(cluster, FreeCards{1});
    ASSERT_TRUE(std::holds_alternative<Plan>(plan));
    EXPECT_EQ(std::get<Plan>(plan).moves.front().to, NodeName("b"))
        << "c has less room, and is barred";
    RoomFor room = room_for(build::whole());
    room.barred = bar("a");
    const auto elsewhere = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(elsewhere));
    EXPECT_EQ(std::get<Plan>(elsewhere).fits_on, NodeName("c"));
}

// What is on each card, and the moves of it that are left: what a plan must agree with, written
// down as simply as can be.
struct Model {
    struct Pod {
        int card;
        int gib;
        bool movable;
    };
    std::vector<int> sizes;  // of the cards
    std::vector<Pod> pods;

    [[nodiscard]] int free(int card) const {
        int held = 0;
        for (const Pod& pod : pods)
            held += pod.card == card ? pod.gib : 0;
        return sizes[static_cast<std::size_t>(card)] - held;
    }
    [[nodiscard]] int count(const std::function<bool(int)>& is) const {
        int out = 0;
        for (int card = 0; card < static_cast<int>(sizes.size()); ++card)
            out += is(card) ? 1 : 0;
        return out;
    }
    [[nodiscard]] int empty_cards() const {
        return count([this](int card) {
            return std::ranges::none_of(pods, [&](const Pod& pod) { return pod.card == card; });
        });
    }
    // The fewest moves to `done`, at most `most`; nothing where there are none.
    std::optional<int> fewest(const std::function<bool(const Model&)>& done, int most) const {
        for (int length = 0; length <= most; ++length) {
            if (reaches(done, length)) return length;
        }
        return std::nullopt;
    }
    bool reaches(const std::function<bool(const Model&)>& done, int left) const {
        if (done(*this)) return true;
        if (left == 0) return false;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            if (!pods[i].movable) continue;
            const int card = best_fit(pods[i].gib);
            if (card < 0 || card == pods[i].card) continue;
            Model after = *this;
            after.pods[i] = {card, pods[i].gib, false};
            if (after.reaches(done, left - 1)) return true;
        }
        return false;
    }
    // -1: there is no room.
    [[nodiscard]] int best_fit(int gib) const {
        int best = -1;
        for (int card = 0; card < static_cast<int>(sizes.size()); ++card) {
            if (free(card) >= gib && (best < 0 || free(card) < free(best))) best = card;
        }
        return best;
    }
};

// Evenly, whatever the size of the case: small ones have nothing to move.
int pick(int from, int to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

// A cluster of one card per node, and the same as a model.
struct Both {
    Scene scene;
    Model model;
};

Both random_both() {
    Both out;
    const int cards = pick(2, 6);
    for (int i = 0; i < cards; ++i) {
        const int size = *rc::gen::element(4, 6, 8);
        out.scene.node("n" + std::to_string(i), 1, size);
        out.model.sizes.push_back(size);
    }
    const int pods = pick(2, 9);
    for (int i = 0; i < pods; ++i) {
        const int card = pick(0, cards);
        const int gib = pick(1, 5);
        if (out.model.free(card) < gib) continue;
        const bool movable = pick(0, 6) > 0;
        out.scene.pod("p" + std::to_string(i), "n" + std::to_string(card), {0}, gib, movable);
        out.model.pods.push_back({card, gib, movable});
    }
    return out;
}

// Carries the plan out on paper: each pod is where the plan says, fits where it says, is movable,
// and moves once.
void carry_out(const Scene& scene, const Plan& plan, std::vector<std::vector<Card>>& cards) {
    const Cluster cluster = scene.cluster();
    std::set<PodUid> left;
    for (const MovablePod& pod : cluster.movable)
        left.insert(pod.ask.uid);
    for (const auto& node : cluster.nodes)
        cards.push_back(node->cards);
    for (const Move& move : plan.moves) {
        RC_ASSERT(left.erase(move.uid) == 1U);
        const auto at = [&](const NodeName& name) {
            return std::ranges::find(cluster.nodes, name,
                                     [](const auto& n) { return n->inventory.name; }) -
                   cluster.nodes.begin();
        };
        const auto from = static_cast<std::size_t>(at(move.node));
        const auto to = static_cast<std::size_t>(at(move.to));
        const auto tenant = std::ranges::find(cluster.nodes[from]->tenants, move.uid,
                                              [](const TenantPtr& of) { return of->uid; });
        RC_ASSERT(tenant != cluster.nodes[from]->tenants.end());
        const auto each = Bytes{move.size.count / static_cast<std::int64_t>(move.cards.size())};
        RC_ASSERT(move.cards.size() == move.to_cards.size());
        for (const int card : move.to_cards) {
            Card& now = cards[to][static_cast<std::size_t>(card)];
            RC_ASSERT(each <= now.free());
            RC_ASSERT(from != to || std::ranges::find(move.cards, card) == move.cards.end());
            now.held += each;
            ++now.holders;
        }
        count_holds(**tenant, cluster.nodes[from]->inventory.gpus, cards[from], -1);
    }
}

RC_GTEST_PROP(DefragPlanProperty, FreesCardsByTheFewestMoves, ()) {
    const Both both = random_both();
    const int more = pick(1, 3);
    const int wanted = both.model.empty_cards() + more;
    const auto least =
        both.model.fewest([&](const Model& m) { return m.empty_cards() >= wanted; }, 4);
    const auto answer = make_plan(both.scene.cluster(), FreeCards{more});
    RC_CLASSIFY(least.has_value() && *least > 0, "moves");
    RC_CLASSIFY(least.has_value() && *least > 1, "several moves");
    if (const auto* plan = std::get_if<Plan>(&answer)) {
        std::vector<std::vector<Card>> cards;
        carry_out(both.scene, *plan, cards);
        RC_ASSERT(plan->fewest);
        RC_ASSERT(plan->after.free_cards >= wanted);
        RC_ASSERT((least.has_value() ? plan->moves.size() == static_cast<std::size_t>(*least)
                                     : plan->moves.size() > 4U));
        int free = 0;
        for (const auto& node : cards)
            free += static_cast<int>(std::ranges::count(node, 0, &Card::holders));
        RC_ASSERT(free == plan->after.free_cards);
        // With too little effort more moves may be found, which are not called the fewest.
        for (std::size_t steps = 1; steps < 60; ++steps) {
            const auto hasty =
                make_plan(both.scene.cluster(), FreeCards{more}, {.steps_per_length = steps});
            const auto* found = std::get_if<Plan>(&hasty);
            RC_ASSERT((!found || !found->fewest || found->moves.size() == plan->moves.size()));
        }
    } else {
        RC_ASSERT(!least.has_value());
    }
}

RC_GTEST_PROP(DefragPlanProperty, MakesRoomByTheFewestMoves, ()) {
    const Both both = random_both();
    const int gib = pick(4, 9);
    const auto least = both.model.fewest(
        [&](const Model& m) { return m.count([&](int card) { return m.free(card) >= gib; }) > 0; },
        4);
    const auto answer = make_plan(both.scene.cluster(), room_for(build::native(gibibytes(gib))));
    RC_CLASSIFY(least.has_value() && *least > 0, "moves");
    RC_CLASSIFY(least.has_value() && *least > 1, "several moves");
    if (const auto* plan = std::get_if<Plan>(&answer)) {
        std::vector<std::vector<Card>> cards;
        carry_out(both.scene, *plan, cards);
        RC_ASSERT(plan->fewest);
        RC_ASSERT(plan->after.largest >= gibibytes(gib));
        RC_ASSERT((least.has_value() ? plan->moves.size() == static_cast<std::size_t>(*least)
                                     : plan->moves.size() > 4U));
    } else {
        RC_ASSERT(!least.has_value());
    }
}

// Goal: larger nodes and pods of several cards: what is planned can be done, and done the same way
// twice.
RC_GTEST_PROP(DefragPlanProperty, MovesAreFeasibleOneAfterTheOther, ()) {
    Scene scene;
    std::map<std::pair<int, int>, int> free;
    const int nodes = pick(1, 5);
    for (int i = 0; i < nodes; ++i) {
        scene.node("n" + std::to_string(i), 4, 8);
        for (int card = 0; card < 4; ++card)
            free[{i, card}] = 8;
    }
    const int pods = pick(0, 24);
    for (int i = 0; i < pods; ++i) {
        const int node = pick(0, nodes);
        const int gib = pick(1, 6);
        const auto wanted = static_cast<std::size_t>(*rc::gen::element(1, 1, 1, 2, 3));
        std::vector<int> cards;
        for (int card = 0; card < 4 && cards.size() < wanted; ++card) {
            if (free[{node, card}] >= gib) cards.push_back(card);
        }
        if (cards.size() < wanted) continue;
        for (const int card : cards)
            free[{node, card}] -= gib;
        scene.pod("p" + std::to_string(i), "n" + std::to_string(node), cards, gib, pick(0, 4) > 0);
    }
    const Goal goal = *rc::gen::arbitrary<bool>() ? Goal(FreeCards{pick(1, 4)})
                                                  : Goal(room_for(build::whole(pick(1, 5))));
    const Effort little{.steps = 20'000, .steps_per_length = 5'000};
    const auto answer = make_plan(scene.cluster(), goal, little);
    const auto* plan = std::get_if<Plan>(&answer);
    RC_CLASSIFY(plan != nullptr);
    if (plan == nullptr) return;
    std::vector<std::vector<Card>> cards;
    carry_out(scene, *plan, cards);
    if (const auto* wanted = std::get_if<FreeCards>(&goal)) {
        RC_ASSERT(plan->after.free_cards >= plan->before.free_cards + wanted->cards);
    } else {
        const Cluster cluster = scene.cluster();
        Placer placer(std::get<RoomFor>(goal).pod.request);
        bool fits = false;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            Offer offer = cluster.nodes[i]->offer();
            const auto left = free_of(cards[i]);
            offer.cards = cards[i];
            offer.free = left;
            if (placer.try_node(offer) == nullptr) continue;
            fits |= cluster.nodes[i]->inventory.name == plan->fits_on;
        }
        RC_ASSERT(fits);
    }
    const auto again = make_plan(scene.cluster(), goal, little);
    RC_ASSERT(std::get<Plan>(again).moves == plan->moves);
}

}  // namespace
}  // namespace tessera::defrag
