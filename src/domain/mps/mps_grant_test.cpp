#include "domain/mps/mps_grant.hpp"

#include <gtest/gtest.h>

#include "domain/mps/client_environment.hpp"

namespace tessera {
namespace {

MpsGrant grant(const std::string& gpu, int threads, int gib,
               std::optional<std::uint32_t> user = {}) {
    return {.pod = PodUid("p"),
            .container = "main",
            .gpu = GpuUuid(gpu),
            .threads = {threads},
            .memory = gibibytes(gib),
            .user_id = user};
}

// Goal: the daemon's limits are never below those of a container, because a client cannot raise
// them, and no container of another GPU counts.
TEST(MpsGrant, TheDaemonHasTheLargestOfItsGpu) {
    EXPECT_EQ(mps_settings_for(GpuUuid("a"), {}), std::nullopt);
    const std::vector<MpsGrant> grants{grant("a", 25, 3), grant("a", 10, 8), grant("b", 90, 16)};
    const auto settings = mps_settings_for(GpuUuid("a"), grants);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->threads, Percent{25});
    EXPECT_EQ(settings->memory, gibibytes(9)) << "with the context";
    for (const MpsGrant& one : grants)
        EXPECT_EQ(has_room_for(*settings, one), one.gpu == GpuUuid("a"));
    EXPECT_FALSE(has_room_for({.threads = {25}, .memory = gibibytes(3)}, grants[0]));
}

TEST(MpsGrant, Multiprocessors) {
    EXPECT_EQ(most_multiprocessors(132, {25}), 37);
    EXPECT_EQ(most_multiprocessors(132, {96}), 131);
    EXPECT_EQ(most_multiprocessors(132, {97}), 0) << "no limit";
    EXPECT_EQ(most_multiprocessors(132, {100}), 0);
    EXPECT_EQ(most_multiprocessors(10, {1}), 2) << "the least that MPS gives";
    EXPECT_EQ(most_multiprocessors(0, {25}), 0) << "not known";
}

TEST(MpsGrant, UsersThatWouldWaitForEachOther) {
    const std::vector<MpsGrant> own{grant("a", 10, 1, 0)};
    MpsGrant changed = grant("a", 10, 1, 1000);
    EXPECT_EQ(of_another_user(changed, own), nullptr) << "its own earlier start";
    changed.container = "other";
    EXPECT_EQ(of_another_user(changed, own), own.data());
    const std::vector<MpsGrant> there{grant("a", 10, 1, 0), grant("b", 10, 1, 1000),
                                      grant("a", 10, 1)};
    EXPECT_EQ(of_another_user(grant("a", 10, 1, 0), there), nullptr);
    const auto of = [](MpsGrant one) {
        one.pod = PodUid("q");
        return one;
    };
    EXPECT_EQ(of_another_user(of(grant("a", 10, 1, 7)), there), there.data());
    EXPECT_EQ(of_another_user(of(grant("b", 10, 1, 0)), there), &there[1]);
    EXPECT_EQ(of_another_user(of(grant("a", 10, 1)), there), nullptr) << "it is not known";
}

TEST(MpsClientEnvironment, SaysTheLimitsOfTheContainer) {
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(mps_client_env(grant("a", 25, 3)),
              (Pairs{{"CUDA_MPS_PIPE_DIRECTORY", "/usr/local/tessera/mps"},
                     {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"},
                     {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=4096M"}}));
    EXPECT_TRUE(check_mps_env("main", std::vector<std::string>{"CUDA_VISIBLE_DEVICES=0"}));
    const auto refused =
        check_mps_env("main", std::vector<std::string>{"A=1", "CUDA_MPS_PIPE_DIRECTORY=/tmp"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "container main sets CUDA_MPS_PIPE_DIRECTORY; Tessera sets the variables of NVIDIA "
              "MPS for pods with tessera.dev/isolation: mps, so remove it from the pod or the "
              "image");
}

}  // namespace
}  // namespace tessera
