// Goal: the moves of a plan can be made one after the other and reach the goal, and no shorter plan
// does.
#include "domain/defrag/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/builders/builders.hpp"
#include "testing/builders/defrag_scene.hpp"
#include "testing/fakes/last_scorer.hpp"

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

TEST(DefragPlan, FreesTheGpuOfTheSmallestPod) {
    Scene scene;
    scene.node("a", 2).node("b", 1);
    scene.pod("large", "a", {0}, 9).pod("small", "a", {1}, 4).pod("middle", "b", {0}, 6);
    const Plan plan = planned(scene, FreeGpus{1});
    ASSERT_EQ(names(plan), Names{"small"});
    EXPECT_EQ(plan.moves.front(), (Move{.uid = PodUid("uid-small"),
                                        .pod = {"default", "small"},
                                        .node = NodeName("a"),
                                        .gpus = {1},
                                        .size = gibibytes(4),
                                        .to = NodeName("a"),
                                        .to_gpus = {0}}));
    EXPECT_EQ(plan.before, (FreeCapacity{0, gibibytes(12)}));
    EXPECT_EQ(plan.after, (FreeCapacity{1, gibibytes(16)}));
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

// Goal: a pod that occupies the only possible place moves first.
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

TEST(DefragPlan, PodsOfSeveralGpus) {
    Scene scene;
    scene.node("a", 2).node("b", 2);
    scene.pod("wide", "a", {0, 1}, 3).pod("b0", "b", {0}, 9).pod("b1", "b", {1}, 9);
    const Plan plan = planned(scene, FreeGpus{2});
    ASSERT_EQ(names(plan), Names{"wide"});
    EXPECT_EQ(plan.moves.front().size, gibibytes(6));
    EXPECT_EQ(plan.moves.front().to_gpus, (std::vector{0, 1}));
    EXPECT_TRUE(plan.fewest) << "every goal needs at least one move";
}

TEST(DefragPlan, SaysWhyThereIsNone) {
    Scene scene;
    scene.node("a", 1).node("b", 1);
    EXPECT_EQ(refused(scene, FreeGpus{1}), "all 2 GPUs are free already");
    EXPECT_EQ(refused(Scene().node("a", 1), FreeGpus{1}), "the only GPU is free already");
    EXPECT_EQ(refused(Scene(), FreeGpus{1}), "no node has a GPU that accepts new pods");
    EXPECT_EQ(refused(Scene().node("a", 1).close("a"), FreeGpus{1}),
              "no node has a GPU that accepts new pods");
    EXPECT_EQ(refused(Scene().node("a", 2).pod("x", "a", {0}, 9, false), FreeGpus{1}),
              "no pod may be moved");
    Scene stuck;
    stuck.node("a", 1).pod("x", "a", {0}, 4, false).pod("y", "a", {0}, 4);
    EXPECT_EQ(refused(stuck, FreeGpus{1}),
              "1 more whole GPU is asked for, and without the one pod that may be moved there "
              "would be no more");
    scene.pod("x", "a", {0}, 10).pod("y", "b", {0}, 8);
    EXPECT_EQ(
        refused(scene, FreeGpus{1}),
        "one of the 2 pods that may be moved would have to move, and the place of its new pod "
        "would gain nothing");
    EXPECT_EQ(refused(scene, FreeGpus{3}),
              "3 more whole GPUs are asked for, and without the 2 pods that may be moved there "
              "would be 2 more");
    EXPECT_EQ(refused(scene, room_for(build::native(gibibytes(20)))),
              "pod default/waits would fit nowhere even without the 2 pods that may be moved; the "
              "most free memory on a GPU would be 16Gi");
    Scene pinned;
    pinned.node("a", 1).pod("x", "a", {0}, 10, false);
    EXPECT_EQ(refused(pinned, room_for(build::whole())),
              "pod default/waits fits nowhere, and no pod may be moved; the most free memory on a "
              "GPU is 6Gi");
}

// Goal: the plan places a pod where its policy would, not in the gap that best fit would choose. If
// the policy would use a free GPU, or the pod's own, no GPU becomes free.
TEST(DefragPlan, GoesByThePolicyOfThePod) {
    Scene scene;
    scene.node("a", 3);
    scene.pod("x", "a", {0}, 4).pod("y", "a", {1}, 10, false).pod("z", "a", {2}, 8, false);
    Cluster cluster = scene.cluster();
    const auto to_of = [&](const Goal& goal) {
        const auto answer = make_plan(cluster, goal);
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? std::vector<int>() : plan->moves.front().to_gpus;
    };
    EXPECT_EQ(to_of(FreeGpus{1}), std::vector{1}) << "best fit";
    const auto last = std::make_shared<const LastScorer>();
    cluster.movable.front().scorer = last;
    EXPECT_EQ(to_of(FreeGpus{1}), std::vector{2});
    const auto answer = make_plan(cluster, FreeGpus{1});
    EXPECT_TRUE(std::get<Plan>(answer).fewest);
    scene.node("b", 1);
    cluster.nodes = scene.cluster().nodes;
    EXPECT_EQ(to_of(FreeGpus{1}), std::vector<int>()) << "it would take the free GPU of b";
    cluster.movable.front().scorer = nullptr;
    EXPECT_EQ(to_of(FreeGpus{1}), std::vector{1});
}

// Goal: a pod that best fit would put back on its own GPU is not moved, wherever else it would fit.
// If its replacement is created after the old pod is gone, the old pod's GPU is free by then. If
// the time of the creation is not known, the pod is moved only if its place is the same in both
// cases.
TEST(DefragPlan, WhoWouldComeBackStays) {
    const auto to_of = [](int gib_of_a, Replacement made) {
        Scene scene;
        scene.node("a", 1, gib_of_a).node("b", 1).pod("x", "a", {0}, 8);
        scene.pod("y", "b", {0}, 7, false);
        Cluster cluster = scene.cluster();
        cluster.movable.front().made = made;
        const auto answer = make_plan(cluster, FreeGpus{1});
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? NodeName() : plan->moves.front().to;
    };
    EXPECT_EQ(to_of(16, Replacement::at_once), NodeName())
        << "nothing of its own GPU would be free";
    EXPECT_EQ(to_of(16, Replacement::once_gone), NodeName("b"))
        << "8 GiB of its own GPU would be free";
    EXPECT_EQ(to_of(16, Replacement::unknown), NodeName()) << "it might come back";
    EXPECT_EQ(to_of(8, Replacement::at_once), NodeName("b"));
    EXPECT_EQ(to_of(8, Replacement::once_gone), NodeName()) << "its own GPU is the best fit";
    EXPECT_EQ(to_of(8, Replacement::unknown), NodeName());
    EXPECT_EQ(to_of(12, Replacement::unknown), NodeName("b")) << "the same in both cases";
}

// Goal: no pod is planned to a node without enough CPU or memory for it; what it takes there is not
// free for the next pod.
TEST(DefragPlan, CpuAndMemoryCount) {
    Scene scene;
    scene.node("a", 2).node("b", 1).node("c", 1);
    scene.pod("x", "a", {0}, 4).pod("y", "a", {1}, 4).pod("fix", "b", {0}, 8, false);
    scene.pod("fiy", "c", {0}, 4, false);
    Cluster cluster = scene.cluster();
    for (MovablePod& pod : cluster.movable)
        pod.request.host = {1'000, gibibytes(1)};
    const auto with_cpu = [&](std::int64_t cpu_of_b, Bytes memory_of_b) {
        for (auto& node : cluster.nodes) {
            NodeInfo info = *node;
            const bool is_b = info.inventory.name.str() == "b";
            info.inventory.host = {8'000, gibibytes(32)};
            info.load.cpu_milli = is_b ? static_cast<int>(cpu_of_b) : 8'000;
            info.load.memory_mib =
                static_cast<int>((is_b ? memory_of_b : gibibytes(32)).count / kMiB);
            node = std::make_shared<const NodeInfo>(std::move(info));
        }
        const auto answer = make_plan(cluster, FreeGpus{2});
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

// Goal: free GPUs are of no use if the node has no CPU left for the pending pod.
TEST(DefragPlan, WhoWaitsNeedsCpuToo) {
    Scene scene;
    scene.node("a", 1).node("b", 1);
    scene.pod("x", "a", {0}, 4).pod("fix", "b", {0}, 10, false);
    Cluster cluster = scene.cluster();
    for (auto& node : cluster.nodes) {
        NodeInfo info = *node;
        info.inventory.host = {4'000, gibibytes(32)};
        info.load.cpu_milli = info.inventory.name.str() == "a" ? 500 : 4'000;
        info.load.memory_mib = 32 * 1024;
        node = std::make_shared<const NodeInfo>(std::move(info));
    }
    cluster.movable.front().request.host = {3'500, gibibytes(1)};
    RoomFor room = room_for(build::native(gibibytes(8)));
    room.pod.host = {1'000, gibibytes(1)};
    const auto answer = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(answer));
    EXPECT_EQ(names(std::get<Plan>(answer)), Names{"x"});
    EXPECT_EQ(std::get<Plan>(answer).fits_on, NodeName("a"));
    room.pod.host.cpu_milli = 4'001;
    EXPECT_TRUE(std::holds_alternative<NoPlan>(make_plan(cluster, room)));
}

// Goal: the pending pod may come before a nominee, and the replacement of a moved pod after it.
// Each is planned to what is left for it.
TEST(DefragPlan, NomineesComeBeforeSomeAndNotBeforeOthers) {
    Scene scene;
    scene.node("a", 1).node("b", 1).node("c", 1);
    scene.pod("x", "a", {0}, 10).pod("fix", "b", {0}, 2, false);
    Cluster cluster = scene.cluster();
    NodeInfo info = *cluster.nodes[1];
    PodRequest nominee = build::request(build::pod("nominee", build::native(gibibytes(8))));
    nominee.priority = 5;
    info.nominees = {{.pod = std::make_shared<const PodRequest>(nominee)}};
    cluster.nodes[1] = std::make_shared<const NodeInfo>(std::move(info));
    RoomFor room = room_for(build::whole());
    room.barred = std::make_shared<const std::set<NodeName>>(std::set{NodeName("c")});
    room.pod.priority = 10;
    const auto to_of = [&](int priority) {
        cluster.movable.front().request.priority = priority;
        const auto answer = make_plan(cluster, room);
        const auto* plan = std::get_if<Plan>(&answer);
        return plan == nullptr ? NodeName() : plan->moves.front().to;
    };
    EXPECT_EQ(to_of(0), NodeName("c")) << "6 GiB are left for it on b";
    EXPECT_EQ(to_of(6), NodeName("b")) << "14 GiB are left, which is the best fit";
    room.pod.containers = build::request(build::native(gibibytes(14)));
    const auto fits = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(fits));
    EXPECT_TRUE(std::get<Plan>(fits).moves.empty()) << "the pending pod comes before the nominee";
}

// Goal: a search that reaches a limit of its effort says that it has not tried all moves.
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

// Goal: a plan with more moves than necessary, found because of a small effort, is not called the
// fewest.
TEST(DefragPlan, InHasteIsNotCalledTheFewest) {
    Scene scene;
    scene.node("a", 1, 8).node("b", 1, 6).node("c", 1, 6).node("d", 1, 8).node("e", 1, 4);
    scene.pod("x", "a", {0}, 3).pod("y", "b", {0}, 4).pod("z", "c", {0}, 4);
    EXPECT_EQ(planned(scene, FreeGpus{1}).moves.size(), 2U);
    const auto hasty = make_plan(scene.cluster(), FreeGpus{1}, {.steps_per_length = 6});
    EXPECT_EQ(std::get<Plan>(hasty).moves.size(), 3U);
    EXPECT_FALSE(std::get<Plan>(hasty).fewest);
}

TEST(DefragPlan, ClosedNodesTakeNobody) {
    Scene scene;
    scene.node("a", 1).node("b", 1).pod("x", "a", {0}, 4).pod("y", "b", {0}, 6, false);
    EXPECT_EQ(names(planned(scene, FreeGpus{1})), Names{"x"});
    scene.close("b");
    EXPECT_EQ(
        refused(scene, FreeGpus{1}),
        "the one pod that may be moved would have to move, and the place of its new pod would "
        "gain nothing");
}

// Goal: no pod is planned to a node that bars it, and no GPUs are freed there for a pending pod.
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
    const auto plan = make_plan(cluster, FreeGpus{1});
    ASSERT_TRUE(std::holds_alternative<Plan>(plan));
    EXPECT_EQ(std::get<Plan>(plan).moves.front().to, NodeName("b"))
        << "c has less free, and is barred";
    RoomFor room = room_for(build::whole());
    room.barred = bar("a");
    const auto elsewhere = make_plan(cluster, room);
    ASSERT_TRUE(std::holds_alternative<Plan>(elsewhere));
    EXPECT_EQ(std::get<Plan>(elsewhere).fits_on, NodeName("c"));
}

}  // namespace
}  // namespace tessera::defrag
