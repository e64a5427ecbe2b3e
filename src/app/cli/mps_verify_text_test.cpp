#include "app/cli/mps_verify_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;

MpsGrant grant(const std::string& pod, const std::string& container, bool has_probe = true) {
    return {.pod = PodUid("uid-" + pod),
            .container = container,
            .name = {"team", pod},
            .gpu = GpuUuid("GPU-1"),
            .threads = {25},
            .memory = gibibytes(3),
            .has_probe = has_probe};
}

MpsContainer one() {
    return {NodeName("node-a"), grant("serve", "main"), 132};
}

// Goal: a pod without MPS, with several containers or of an older release gets what to do. Grants
// of containers that are over, and of an earlier pod of the same name, do not count.
TEST(MpsVerifyText, FindsTheContainer) {
    MpsGrant earlier = grant("serve", "main");
    earlier.pod = PodUid("uid-before");
    const MpsReport node{
        .node = NodeName("node-a"),
        .gpus = {{.state = {},
                  .grants = {earlier, grant("serve", "main"), grant("serve", "init"),
                             grant("two", "a"), grant("two", "b"), grant("old", "main", false)},
                  .multiprocessors = 132}}};
    const auto find = [&](const std::string& pod, const std::string& container = "") {
        return find_mps_container(node, {{"team", pod}, PodUid("uid-" + pod), {"main", "a", "b"}},
                                  container);
    };
    EXPECT_EQ(find("serve")->grant, grant("serve", "main"));
    EXPECT_EQ(find("serve")->multiprocessors, 132);
    EXPECT_EQ(find("two", "b")->grant.container, "b");
    EXPECT_THAT(find("two").error().text, HasSubstr("several containers with NVIDIA MPS (a, b)"));
    EXPECT_THAT(find("none").error().text,
                HasSubstr("pod team/none has no running container with"));
    EXPECT_THAT(find("serve", "init").error().text, HasSubstr("no running container init with"));
    EXPECT_THAT(find("old").error().text, HasSubstr("create the pod again"));
}

TEST(MpsVerifyText, ShowsWhatWasFound) {
    const std::vector<MpsFinding> findings{{"multiprocessors", "25 % of 132", "32", true},
                                           {"memory shown", "3Gi", "80Gi", false}};
    EXPECT_EQ(mps_verify_table(one(), findings),
              "pod team/serve, container main, on GPU-1 of node-a\n"
              "CHECK            GRANTED      FOUND  RESULT\n"
              "multiprocessors  25 % of 132  32     ok\n"
              "memory shown     3Gi          80Gi   FAILED\n");
    EXPECT_EQ(
        mps_verify_json(one(), findings),
        R"({"pod":"team/serve","container":"main","node":"node-a","gpu":"GPU-1","ok":false,)"
        R"("checks":[{"check":"multiprocessors","granted":"25 % of 132","found":"32","ok":true},)"
        R"({"check":"memory shown","granted":"3Gi","found":"80Gi","ok":false}]})");
}

TEST(MpsVerifyText, PlotsASweep) {
    const std::vector<MpsSweepStep> steps{
        {{10}, {.used_multiprocessors = 12, .blocks_per_s = 12'000}},
        {{25}, {.used_multiprocessors = 32, .blocks_per_s = 32'000}}};
    EXPECT_EQ(mps_sweep_table(steps),
              "THREADS%  MULTIPROCESSORS  BLOCKS/S  THROUGHPUT\n"
              "10        12               12000     ###############\n"
              "25        32               32000     ########################################\n");
    EXPECT_EQ(mps_sweep_json(one(), steps),
              R"({"pod":"team/serve","container":"main","node":"node-a","gpu":"GPU-1","steps":[)"
              R"({"threadsPercent":10,"multiprocessors":12,"blocksPerSecond":12000},)"
              R"({"threadsPercent":25,"multiprocessors":32,"blocksPerSecond":32000}]})");
    EXPECT_THAT(mps_sweep_table({{{1}, {}}}), HasSubstr("1         0                0"));
}

}  // namespace
}  // namespace tessera
