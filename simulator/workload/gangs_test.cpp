#include "simulator/workload/gangs.hpp"

#include <gtest/gtest.h>

#include "simulator/churn/churn_workload.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {
namespace {

PlacementTask gpus(std::int16_t count) {
    return {.milli = static_cast<std::int16_t>(count > 0 ? kMilliPerGpu : 0), .count = count};
}

// A node of four GPUs; pods of one GPU, and one without.
Workload small(int pods) {
    Workload workload;
    workload.nodes = {{.cpu_milli = 1'000, .memory_mib = 1'000, .gpus = 4}};
    for (int pod = 0; pod <= pods; ++pod) {
        const PlacementTask task = gpus(pod == 0 ? 0 : 1);
        workload.pods.push_back({task});
        workload.arrivals.push_back(task);
        workload.pod_rows.push_back(static_cast<std::uint32_t>(pod));
    }
    return workload;
}

TEST(Gangs, ShareIsRead) {
    EXPECT_EQ(read_gang_share("10%x8"), (GangShare{10, 8}));
    for (const char* text : {"", "10", "10%", "%x8", "0%x8", "101%x8", "10%x1", "10%x1001", "10x8",
                             "10% x8", "10%x8 ", "-1%x8"}) {
        const auto refused = read_gang_share(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
    }
}

// Goal: the given share of the pods with GPUs becomes gangs of the given size, the same for the
// same seed.
TEST(Gangs, AreMadeOfPods) {
    Workload workload = small(1'000);
    ASSERT_TRUE(make_gangs(workload, {10, 8}, 1));
    int gangs = 0;
    for (const TimedTask& pod : workload.pods)
        gangs += pod.gang == 8 ? 1 : 0;
    EXPECT_NEAR(gangs, 100, 30);
    EXPECT_EQ(workload.pods[0].gang, 1) << "requests no GPU";
    EXPECT_EQ(workload.arrivals.size(), 1'001U + 7U * static_cast<unsigned>(gangs));
    EXPECT_EQ(workload.together.size(), workload.arrivals.size());
    EXPECT_EQ(workload.pod_rows.size(), workload.arrivals.size());
    Workload again = small(1'000);
    ASSERT_TRUE(make_gangs(again, {10, 8}, 1));
    EXPECT_EQ(again.together, workload.together);
    ASSERT_TRUE(make_gangs(again = small(1'000), {10, 8}, 2));
    EXPECT_NE(again.together, workload.together);
    ASSERT_TRUE(make_gangs(again = small(3), {}, 1));
    EXPECT_TRUE(again.together.empty());
}

// Goal: a named gang arrives with the last of its pods, as often as all its pods arrived, and is
// one task in churn.
TEST(Gangs, AreNamed) {
    Workload workload = small(3);
    workload.pods[3].task = gpus(2);
    workload.pod_rows = {1, 2, 3, 1, 1, 3};
    workload.pods[1].lasts_s = 5;
    workload.pods[3].lasts_s = 7;
    name_gangs(workload, std::vector<std::string>{"", "g", "", "g"});
    EXPECT_EQ(workload.pod_rows, (std::vector<std::uint32_t>{2, 1, 3, 1, 1}));
    EXPECT_EQ(workload.together, (std::vector<std::uint32_t>{1, 2, 0, 2, 0}));
    EXPECT_EQ(workload.arrivals[2], gpus(2));
    EXPECT_EQ(workload.pods[1].gang, 2);
    EXPECT_EQ(workload.pods[1].lasts_s, 7);
    EXPECT_EQ(workload.pods[3].gang, 0);
    EXPECT_TRUE(workload.has_mixed_gangs);
    const auto refused = churn_tasks(workload, {.load = 1, .longest_s = 10, .ends_s = 10});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_FALSE(make_gangs(workload, {10, 8}, 1));
    workload = small(3);
    name_gangs(workload, std::vector<std::string>(4));
    EXPECT_TRUE(workload.together.empty());
}

// Goal: a replay drops a gang as a whole and continues with the others.
TEST(Gangs, ReplayPlacesAllOrNone) {
    Workload workload = small(3);
    workload.pods[1].gang = 3;
    workload.pods[2].gang = 2;
    spread_gangs(workload);
    EXPECT_EQ(workload.together, (std::vector<std::uint32_t>{1, 3, 0, 0, 2, 0, 1}));
    for (const PlacementPolicyRow& policy : placement_policies()) {
        const auto placed = replay(workload, policy, {});
        ASSERT_EQ(placed.size(), 7U);
        std::vector<std::int32_t> nodes;
        for (const Placed& one : placed)
            nodes.push_back(one.node);
        EXPECT_EQ(nodes, (std::vector<std::int32_t>{0, 0, 0, 0, -1, -1, 0})) << policy.name;
    }
}

}  // namespace
}  // namespace tessera
