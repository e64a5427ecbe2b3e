// Goal: the driver limits the memory of containers to their shares, and a limit that is missing is
// found. Method: real cgroups of this machine, and the simulated driver with its limits on.
#include "adapters/memory_limits/driver_enforcer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "adapters/nvml/nvml_memory_limits.hpp"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/test_cgroup.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using gpusim::ChildProcess;
using gpusim::TestCgroup;
using gpusim::Wire;
using testing::HasSubstr;

constexpr ShareResources kMemory{.memory = true, .compute = false};

class DriverEnforcerTest : public testing::Test {
  protected:
    void SetUp() override {
        ChildProcess trial([this](Wire& wire) { wire.send(cgroup_.enter() ? 1 : 2); });
        const std::uint64_t answer = trial.wire().receive();
        ASSERT_EQ(trial.join(), 0);
        if (answer != 1)
            GTEST_SKIP() << "needs root, and a cgroup hierarchy that can be written to";
        ASSERT_EQ(program_.wire().receive(), 1U);
        ASSERT_EQ(node_.control("memory-limits dmem"), 0);
    }

    [[nodiscard]] EnforcedContainer container(const std::string& name = "main") const {
        return {.pod = PodUid("uid-a"),
                .name = {"default", "a"},
                .container = name,
                .cgroup_path = "/" + cgroup_.directory().filename().string()};
    }
    [[nodiscard]] std::vector<EnforcedShare> shares(Bytes memory = gibibytes(3)) const {
        return {{.gpu = gpu_, .memory = memory, .cores = {25}}};
    }
    [[nodiscard]] std::optional<Bytes> limit() const {
        return limits_->get(gpu_, cgroup_.directory())->limit;
    }
    // Of an agent that has just started.
    [[nodiscard]] DriverEnforcer made() const {
        return {node_.root() / "records", cgroup_.directory().parent_path(), *limits_};
    }
    void start(DriverEnforcer& driver) const {
        ASSERT_TRUE(driver.prepare(container(), shares(), kMemory));
        const auto applied = driver.apply(container(), program_.pid());
        ASSERT_TRUE(applied) << applied.error().text;
    }

    gpusim::SimulatedNode node_{gpusim::kTwoGpus};
    const TestCgroup cgroup_{TestCgroup::directory_here("tessera-limits")};
    const GpuUuid gpu_{node_.gpus()[0].uuid};
    const std::unique_ptr<CgroupMemoryLimits> limits_ = nvml_memory_limits(
        node_.root().string(), "install the driver", cgroup_.directory().parent_path());
    // The container's program: it waits in the cgroup.
    ChildProcess program_{[this](Wire& wire) {
        wire.send(cgroup_.enter() ? 1 : 2);
        wire.receive();
    }};
};

TEST_F(DriverEnforcerTest, LimitsMemoryWhereTheDriverCan) {
    const DriverEnforcer driver = made();
    EXPECT_EQ(driver.can_enforce(ShareResource::memory, container(), shares()).error().code,
              Code::unavailable)
        << "the driver was not asked yet";
    ASSERT_TRUE(limits_->check_supported(gpu_));
    EXPECT_TRUE(driver.can_enforce(ShareResource::memory, container(), shares()));
    EXPECT_FALSE(driver.can_enforce(ShareResource::compute, container(), shares()));
    struct Case {
        EnforcedContainer container;
        std::vector<EnforcedShare> shares;
        const char* error;
    };
    std::vector<EnforcedShare> with_mps = shares();
    with_mps[0].mps = true;
    std::vector<EnforcedShare> unknown = shares();
    unknown[0].gpu = GpuUuid("GPU-1");
    EnforcedContainer unnamed = container();
    unnamed.cgroup_path.clear();
    EnforcedContainer odd = container();
    odd.cgroup_path = "/../x";
    for (const Case& c : {Case{unnamed, shares(), "does not say the container's cgroup"},
                          {odd, shares(), "\"/../x\" is no path of a cgroup"},
                          {container(), with_mps, "the pod uses MPS"},
                          {container(), unknown, "was not asked yet"}}) {
        const auto can = driver.can_enforce(ShareResource::memory, c.container, c.shares);
        ASSERT_FALSE(can) << c.error;
        EXPECT_THAT(can.error().text, HasSubstr(c.error));
    }
    ASSERT_EQ(node_.control("memory-limits off"), 0);
    EXPECT_TRUE(driver.can_enforce(ShareResource::memory, container(), shares()))
        << "what the driver said last counts until it is asked again";
    EXPECT_FALSE(limits_->check_supported(gpu_));
    const auto can = driver.can_enforce(ShareResource::memory, container(), shares());
    ASSERT_FALSE(can);
    EXPECT_EQ(can.error().code, Code::unsupported);
}

TEST_F(DriverEnforcerTest, SetsTheLimitBeforeTheProgramRuns) {
    DriverEnforcer driver = made();
    ASSERT_TRUE(driver.prepare(container(), shares({gibibytes(3).count + 12345}), kMemory));
    EXPECT_EQ(limit(), std::nullopt);
    EXPECT_EQ(driver.enforces(PodUid("uid-a"), "main"), kMemory);
    const auto applied = driver.apply(container(), program_.pid());
    ASSERT_TRUE(applied) << applied.error().text;
    EXPECT_EQ(limit(), gibibytes(3)) << "in whole pages of the GPU";
    EXPECT_EQ(limits_->get(gpu_, cgroup_.directory())->guaranteed, Bytes{});
    EXPECT_TRUE(driver.verify(container(), program_.pid()));
    EXPECT_EQ(driver.pods(), std::set{PodUid("uid-a")});
    EXPECT_TRUE(driver.is_in_use(PodUid("uid-a")));
    EXPECT_FALSE(driver.is_in_use(PodUid("uid-b")));
}

// Goal: a process elsewhere is not limited, so its container does not start.
TEST_F(DriverEnforcerTest, RefusesAProcessOutsideTheCgroup) {
    DriverEnforcer driver = made();
    ASSERT_TRUE(driver.prepare(container(), shares(), kMemory));
    const auto applied = driver.apply(container(), getpid());
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code, Code::conflict);
    EXPECT_THAT(applied.error().text, HasSubstr("is not in the cgroup"));
    EXPECT_FALSE(driver.apply(container("other"), program_.pid())) << "not prepared";
}

// Goal: the agent lets go of a driver that is to be replaced, and finds the limits again.
TEST_F(DriverEnforcerTest, LetsGoOfTheDriver) {
    DriverEnforcer driver = made();
    start(driver);
    limits_->close();
    ASSERT_TRUE(limits_->is_closed());
    EXPECT_TRUE(driver.verify(container(), program_.pid())) << "the limits are in force";
    EXPECT_EQ(limits_->get(gpu_, cgroup_.directory()).error().code, Code::unavailable);
    EXPECT_FALSE(driver.update(PodUid("uid-a"), "main", shares(gibibytes(5))));
    limits_->open();
    EXPECT_TRUE(driver.update(PodUid("uid-a"), "main", shares(gibibytes(5))).value())
        << "what failed is tried again";
    EXPECT_EQ(limit(), gibibytes(5));
    EXPECT_FALSE(driver.update(PodUid("uid-a"), "main", shares(gibibytes(5))).value());
}

TEST_F(DriverEnforcerTest, FindsALimitThatSomeoneChanged) {
    DriverEnforcer driver = made();
    start(driver);
    ASSERT_TRUE(limits_->set(gpu_, cgroup_.directory(), gibibytes(12)));
    const auto changed = driver.verify(container(), program_.pid());
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Code::conflict);
    EXPECT_THAT(changed.error().text, HasSubstr("is 12884901888 bytes, and must be 3221225472"));
    ASSERT_TRUE(limits_->set(gpu_, cgroup_.directory(), std::nullopt));
    EXPECT_THAT(driver.verify(container(), program_.pid()).error().text, HasSubstr("is none"));
}

// Goal: an agent that is killed at any moment loses no limit.
TEST_F(DriverEnforcerTest, TheNextAgentSetsWhatIsMissing) {
    {
        DriverEnforcer killed = made();
        ASSERT_TRUE(killed.prepare(container(), shares(), kMemory));
    }
    DriverEnforcer driver = made();
    EXPECT_EQ(driver.enforces(PodUid("uid-a"), "main"), kMemory);
    driver.recover({}, {PodUid("uid-a")});
    EXPECT_EQ(limit(), std::nullopt) << "the pod is over";
    driver.recover({PodUid("uid-a"), PodUid("uid-b")}, {});
    EXPECT_EQ(limit(), gibibytes(3));
    EXPECT_TRUE(driver.verify(container(), program_.pid()));
    ASSERT_TRUE(limits_->set(gpu_, cgroup_.directory(), std::nullopt));
    EXPECT_TRUE(made().verify(container(), program_.pid()))
        << "the first look at a container of an earlier agent sets it, too";
    EXPECT_EQ(limit(), gibibytes(3));
}

TEST_F(DriverEnforcerTest, NeedsAFolderOfCgroups) {
    const auto elsewhere = nvml_memory_limits(node_.root().string(), "install it", "/tmp");
    const auto refused = elsewhere->check_supported(gpu_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_THAT(refused.error().text, HasSubstr("/tmp is no folder of cgroups"));
}

// Goal: a container whose programs are in cgroups of their own below its own is known by these.
TEST_F(DriverEnforcerTest, FindsProcessesBelow) {
    const TestCgroup below(cgroup_.directory() / "below");
    ChildProcess program([&](Wire& wire) {
        wire.send(below.enter() ? 1 : 2);
        wire.receive();
    });
    ASSERT_EQ(program.wire().receive(), 1U);
    DriverEnforcer driver = made();
    start(driver);
    EXPECT_TRUE(driver.verify(container(), program.pid()));
    program_.kill_hard();
    EXPECT_TRUE(driver.is_in_use(PodUid("uid-a")));
    program.kill_hard();
    EXPECT_FALSE(driver.is_in_use(PodUid("uid-a")));
}

TEST_F(DriverEnforcerTest, ChangesTheLimitOfARunningContainer) {
    DriverEnforcer driver = made();
    start(driver);
    EXPECT_FALSE(driver.update(PodUid("uid-a"), "main", shares()).value());
    EXPECT_TRUE(driver.update(PodUid("uid-a"), "main", shares(gibibytes(5))).value());
    EXPECT_EQ(limit(), gibibytes(5));
    EXPECT_TRUE(made().verify(container(), program_.pid())) << "also for the next agent";
    EXPECT_FALSE(driver.update(PodUid("uid-b"), "main", shares()).value());
}

// Goal: no limit outlives its pod, and a record that is broken harms no other.
TEST_F(DriverEnforcerTest, LeavesNothing) {
    DriverEnforcer driver = made();
    start(driver);
    std::ofstream(node_.root() / "records" / "uid-a" / "broken.json") << "{\"version\":1,\"cg";
    std::ofstream(node_.root() / "records" / "uid-a" / "main.json.Xy12az") << "{";
    driver.cleanup(PodUid("uid-a"));
    EXPECT_EQ(limit(), std::nullopt);
    EXPECT_TRUE(driver.pods().empty());
    EXPECT_FALSE(driver.enforces(PodUid("uid-a"), "main").any());
    start(driver);
    driver.release(PodUid("uid-a"), "main");
    EXPECT_EQ(limit(), std::nullopt);
    EXPECT_FALSE(driver.enforces(PodUid("uid-a"), "main").any());
    EXPECT_FALSE(driver.verify(container(), program_.pid()));
}

}  // namespace
}  // namespace tessera
