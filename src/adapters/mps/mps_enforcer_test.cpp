// The agent's side of the folder of the MPS daemons.
#include "adapters/mps/mps_enforcer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "adapters/mps/agent_mps_folder.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class MpsEnforcerTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tessera-mps-agent.XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { fs::remove_all(root_); }

    static EnforcedContainer container(const std::string& pod,
                                       std::optional<std::uint32_t> user = {}) {
        return {.pod = PodUid(pod), .name = {"default", pod}, .container = "main", .user_id = user};
    }
    [[nodiscard]] std::vector<EnforcedShare> share(int cores = 25, bool mps = true) const {
        return {{.gpu = gpu_, .memory = gibibytes(3), .cores = {cores}, .mps = mps}};
    }
    [[nodiscard]] MpsEnforcer made(bool shares_memory = false) const {
        return {root_, shares_memory, root_ / "guard" / "tessera-mps-probe"};
    }

    fs::path root_;
    const GpuUuid gpu_{"GPU-40a36dc3-72da-b80a-372e-63d5e03ba048"};
};

// Goal: MPS takes the compute of pods that ask for it, and nothing else.
TEST_F(MpsEnforcerTest, LimitsTheComputeOfPodsThatRequestIt) {
    const MpsEnforcer mps = made();
    EXPECT_TRUE(mps.can_enforce(ShareResource::compute, container("a"), share()));
    EXPECT_FALSE(mps.can_enforce(ShareResource::memory, container("a"), share()));
    EXPECT_FALSE(mps.can_enforce(ShareResource::compute, container("a"), share(25, false)));
    EXPECT_EQ(mps.fault(ShareResource::compute), "");
    EXPECT_NE(mps.fault(ShareResource::memory), "");
}

TEST_F(MpsEnforcerTest, GivesAContainerItsPipeAndItsLimits) {
    EXPECT_EQ(made().prepare(container("b"), share(), {false, true})->mounts.size(), 1U);
    const std::vector<std::string> points{"/usr/local/tessera/mps",
                                          "/usr/local/tessera/tessera-mps-probe"};
    EXPECT_EQ(made().mount_points(), points);
    MpsEnforcer mps = made(true);
    const auto edits = mps.prepare(container("a"), share(), {.memory = false, .compute = true});
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_EQ(edits->env.size(), 3U);
    ASSERT_EQ(edits->mounts.size(), 2U);
    EXPECT_EQ(edits->mounts[0].source, root_ / gpu_.str() / "tenants");
    EXPECT_TRUE(edits->mounts[0].read_only);
    EXPECT_EQ(edits->mounts[1].destination, "/dev/shm");
    EXPECT_EQ(mps.mount_points(), (std::vector<std::string>{points[0], points[1], "/dev/shm"}));
    EXPECT_TRUE(mps.is_ours(edits->mounts[0].source));
    EXPECT_FALSE(mps.is_ours("/dev/shm"));
}

// Goal: containers get the probe where this release has one, and those that started without it are
// not missing it later.
TEST_F(MpsEnforcerTest, GivesAContainerTheProbe) {
    MpsEnforcer mps = made();
    ASSERT_TRUE(mps.prepare(container("before"), share(), {false, true}));
    const fs::path probe = root_ / "guard" / "tessera-mps-probe";
    fs::create_directories(probe.parent_path());
    std::ofstream(probe) << "program";
    const auto edits = mps.prepare(container("a"), share(), {false, true});
    ASSERT_EQ(edits->mounts.size(), 2U);
    EXPECT_EQ(edits->mounts[1].source, probe);
    EXPECT_EQ(edits->mounts[1].destination, "/usr/local/tessera/tessera-mps-probe");
    EXPECT_TRUE(edits->mounts[1].read_only);
    EXPECT_TRUE(mps.is_ours(probe));
    for (const std::string& point : mps.mount_points())
        EXPECT_EQ(mps.is_optional(point), point == edits->mounts[1].destination) << point;
    for (const MpsGrant& grant : mps.grants())
        EXPECT_EQ(grant.has_probe, grant.pod == PodUid("a"));
}

// Goal: an agent that starts again knows what containers started with, until their pod is over.
TEST_F(MpsEnforcerTest, WhatContainersStartedWithSurvivesTheAgent) {
    ASSERT_TRUE(made().prepare(container("a", 1000), share(), {false, true}));
    MpsEnforcer mps = made();
    ASSERT_EQ(mps.grants().size(), 1U);
    const MpsGrant grant = mps.grants().front();
    EXPECT_EQ(grant.pod, PodUid("a"));
    EXPECT_EQ(grant.container, "main");
    EXPECT_EQ(grant.gpu, gpu_);
    EXPECT_EQ(grant.user_id, 1000U);
    EXPECT_EQ(mps.enforces(PodUid("a"), "main"), (ShareResources{false, true}));
    EXPECT_EQ(mps.enforces(PodUid("a"), "other"), ShareResources{});
    EXPECT_EQ(mps.pods(), std::set{PodUid("a")});
    EXPECT_EQ(mps.usage().uses.size(), 1U);
    EXPECT_FALSE(mps.update(PodUid("a"), "main", share()).value());
    EXPECT_FALSE(mps.update(PodUid("a"), "main", share(50)));
    mps.cleanup(PodUid("a"));
    EXPECT_TRUE(mps.grants().empty());
    EXPECT_TRUE(mps.pods().empty());
    EXPECT_EQ(mps.enforces(PodUid("a"), "main"), ShareResources{});
}

// Goal: programs of a second user would wait for those of the first without a word.
TEST_F(MpsEnforcerTest, OneUserForEachGpu) {
    MpsEnforcer mps = made();
    ASSERT_TRUE(mps.prepare(container("a", 0), share(), {false, true}));
    EXPECT_TRUE(mps.can_enforce(ShareResource::compute, container("b", 0), share()));
    EXPECT_TRUE(mps.can_enforce(ShareResource::compute, container("b"), share()));
    const auto refused = mps.can_enforce(ShareResource::compute, container("b", 7), share());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text, HasSubstr("runs as user 7, and another container on its GPU "
                                                "as user 0"));
    mps.release(PodUid("a"), "main");
    EXPECT_TRUE(mps.can_enforce(ShareResource::compute, container("b", 7), share()));
}

// Goal: garbage in the folder, which an older or newer agent may have left, harms no container.
TEST_F(MpsEnforcerTest, WhatCannotBeReadIsLeftOut) {
    fs::create_directories(root_ / "grants" / "a");
    std::ofstream(root_ / "grants" / "a" / "main.json") << "{";
    std::ofstream(root_ / "grants" / "a" / "other") << "{}";
    EXPECT_TRUE(made().grants().empty());
    EXPECT_EQ(made().enforces(PodUid("a"), "main"), ShareResources{});
    EXPECT_EQ(made().pods(), std::set{PodUid("a")}) << "so that it is removed";
}

// Goal: a container whose programs cannot reach the daemon does not start.
TEST_F(MpsEnforcerTest, ChecksThatTheProcessSeesThePipe) {
    MpsEnforcer mps = made();
    EXPECT_FALSE(mps.verify(container("a"), getpid())) << "nothing was prepared";
    ASSERT_TRUE(mps.prepare(container("a"), share(), {false, true}));
    const auto checked = mps.verify(container("a"), getpid());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::conflict);
    EXPECT_THAT(checked.error().text, HasSubstr("/usr/local/tessera/mps, by which its programs "
                                                "reach NVIDIA MPS, is covered"));
}

// Goal: what the agent writes is what tessera-mps reads, and the other way round.
TEST_F(MpsEnforcerTest, TheAgentAndTesseraMpsAgree) {
    AgentMpsFolder agent(root_);
    MpsFolder daemons(root_);
    EXPECT_FALSE(agent.is_supervised());
    EXPECT_TRUE(daemons.take());
    EXPECT_TRUE(agent.is_supervised());
    EXPECT_EQ(agent.wanted(gpu_).value(), std::nullopt);
    const MpsSettings settings{.threads = {50}, .memory = gibibytes(3)};
    ASSERT_TRUE(agent.want(gpu_, settings));
    EXPECT_EQ(daemons.wanted(gpu_).value(), settings);
    EXPECT_EQ(agent.gpus(), std::vector{gpu_});
    EXPECT_EQ(agent.state(gpu_).value(), std::nullopt);
    const MpsState state{.gpu = gpu_, .phase = MpsPhase::ready, .settings = settings};
    ASSERT_TRUE(daemons.write_state(state));
    EXPECT_EQ(agent.state(gpu_).value(), state);
    ASSERT_TRUE(agent.want(gpu_, std::nullopt));
    ASSERT_TRUE(agent.want(gpu_, std::nullopt)) << "again";
    EXPECT_EQ(daemons.wanted(gpu_).value(), std::nullopt);
    std::ofstream(root_ / gpu_.str() / "state.json") << "{";
    EXPECT_FALSE(agent.state(gpu_));
}

}  // namespace
}  // namespace tessera
