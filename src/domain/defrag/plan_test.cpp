// Goal: a plan can be carried out one move after the other, reaches what is asked for, and no
// shorter one does.
#include "domain/defrag/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/builders/builders.hpp"
#include "testing/builders/defrag_scene.hpp"
#include "testing/fakes/last_rater.hpp"

namespace tessera::defrag {
namespace {

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
    EXPECT_EQ(planned(scene, FreeCards{1}).moves.size(), 2U);
    const auto hasty = make_plan(scene.cluster(), FreeCards{1}, {.steps_per_length = 6});
    EXPECT_EQ(std::get<Plan>(hasty).moves.size(), 3U);
    EXPECT_FALSE(std::get<Plan>(hasty).fewest);
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

}  // namespace
}  // namespace tessera::defrag
