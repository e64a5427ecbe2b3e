#include "app/agent/metering/usage_metering.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_usage.hpp"

namespace tessera {
namespace {

class AgentUsageMetering : public testing::Test {
  protected:
    static PodInfo pod(const std::string& name, std::int64_t gib = 3) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        GpuShare share;
        share.uuid = GpuUuid("GPU-a");
        share.memory = gibibytes(gib);
        return build::bound(pod, build::allocation(pod, "node-a", {share}));
    }
    static std::vector<Gpu> gpus() {
        Gpu gpu;
        gpu.uuid = GpuUuid("GPU-a");
        gpu.model = "A100";
        gpu.memory = gibibytes(80);
        return {gpu};
    }
    void list(std::vector<PodInfo> pods) {
        PodChanges changes{.upserted = {}, .deleted = {}, .listed = std::set<PodUid>()};
        for (PodInfo& one : pods) {
            changes.listed->insert(one.uid);
            changes.upserted.push_back(std::move(one));
        }
        agent_->take(changes);
    }
    void pass(int seconds) {
        for (int s = 0; s < seconds; s += 5) {
            clock_.pass(5);
            agent_->look();
        }
    }
    void restart() {
        agent_.emplace(spool_, clock_, [] { return gpus(); });
        ASSERT_TRUE(agent_->recover());
    }
    [[nodiscard]] std::int64_t charged_s() const {
        std::int64_t sum = 0;
        for (const UsageRecord& record : spool_.records())
            sum += record.time.seconds();
        return sum;
    }

    FakeUsageSpool spool_;
    FakeMeterClock clock_;
    std::optional<UsageMetering> agent_{std::in_place, spool_, clock_, [] { return gpus(); }};
};

TEST_F(AgentUsageMetering, APodIsChargedFromItsAllocationToItsEnd) {
    list({pod("a")});
    pass(150);
    EXPECT_EQ(charged_s(), 120);
    agent_->take({.upserted = {}, .deleted = {pod("a").uid}, .listed = {}});
    EXPECT_EQ(charged_s(), 150);
    const UsageRecord record = spool_.records().front();
    EXPECT_EQ(record.name, (PodName{"default", "a"}));
    EXPECT_EQ(record.container, "main");
    EXPECT_EQ(record.memory, gibibytes(3));
    EXPECT_EQ(record.model, "A100");
    pass(100);
    EXPECT_EQ(charged_s(), 150);
}

TEST_F(AgentUsageMetering, APodThatFinishesIsOver) {
    list({pod("a")});
    pass(30);
    PodInfo finished = pod("a");
    finished.finished = true;
    agent_->take({.upserted = {finished}, .deleted = {}, .listed = {}});
    pass(60);
    EXPECT_EQ(charged_s(), 30);
}

// Goal: a pod without an allocation of its own, or with the annotation of another pod, is free.
TEST_F(AgentUsageMetering, OtherPodsAreNotCharged) {
    PodInfo copied = pod("b");
    copied.allocation = pod("a").allocation;
    list({copied, build::pod("c", build::native(gibibytes(1)))});
    pass(150);
    EXPECT_EQ(charged_s(), 0);
}

// Goal: until all pods are known, no pod counts as over.
TEST_F(AgentUsageMetering, AnAgentThatStartsAgainGoesOn) {
    list({pod("a"), pod("b")});
    pass(65);
    clock_.pass(300);  // no agent
    restart();
    agent_->take({.upserted = {pod("a")}, .deleted = {}, .listed = {}});
    agent_->look();
    EXPECT_EQ(charged_s(), 120);
    list({pod("a")});
    pass(60);
    agent_->take({.upserted = {}, .deleted = {pod("a").uid}, .listed = {}});
    // b ended without an agent: it is charged for what was written of it.
    EXPECT_EQ(charged_s(), 65 + 300 + 60 + 65);
}

// Goal: a new pod is on the disk at once, or an agent that is killed would forget its start.
TEST_F(AgentUsageMetering, WritesThePodsThatBegin) {
    list({});
    EXPECT_EQ(spool_.state_writes, 0);
    list({pod("a")});
    EXPECT_EQ(spool_.state_writes, 1);
    agent_->look();
    EXPECT_EQ(spool_.state_writes, 1);
    EXPECT_TRUE(spool_.state.pods.contains(pod("a").uid));
    clock_.pass(40);
    restart();
    list({});
    list({pod("b")});
    EXPECT_EQ(spool_.state.pods.size(), 1U);
}

// Goal: a resize is on the disk at once, or an agent that is killed would charge what was before
// it.
TEST_F(AgentUsageMetering, WritesResizes) {
    list({pod("a", 3)});
    pass(10);
    const int before = spool_.state_writes;
    agent_->take({.upserted = {pod("a", 40)}, .deleted = {}, .listed = {}});
    EXPECT_EQ(spool_.state_writes, before + 1);
    restart();
    clock_.pass(600);
    list({pod("a", 40)});
    EXPECT_EQ(spool_.records().back().memory, gibibytes(40));
}

// Goal: a pod whose allocation cannot be read any more is not free, also for the next agent.
TEST_F(AgentUsageMetering, APodThatLosesItsAllocationIsStillCharged) {
    list({pod("a")});
    PodInfo unreadable = pod("a");
    unreadable.allocation = fail(Code::invalid_argument, "the seal is broken");
    agent_->take({.upserted = {unreadable}, .deleted = {}, .listed = {}});
    pass(125);
    EXPECT_EQ(charged_s(), 120);
    restart();
    list({unreadable});
    pass(60);
    agent_->take({.upserted = {}, .deleted = {unreadable.uid}, .listed = {}});
    EXPECT_EQ(charged_s(), 185);
    EXPECT_EQ(spool_.records().back().memory, gibibytes(3));
}

// Goal: a disk that fails costs nothing as long as the agent runs.
TEST_F(AgentUsageMetering, ADiskThatFailsIsTriedAgain) {
    list({pod("a")});
    spool_.fault = fail(Code::unavailable, "no space left on device");
    pass(200);
    EXPECT_EQ(charged_s(), 0);
    spool_.fault = {};
    pass(5);
    EXPECT_EQ(charged_s(), 180);
}

// Goal: an agent that ends in order loses nothing of a pod that ends before the next one starts.
TEST_F(AgentUsageMetering, AnAgentThatEndsWritesWhatPassed) {
    list({pod("a")});
    pass(30);
    agent_->finish();
    restart();
    list({});
    EXPECT_EQ(charged_s(), 30);
}

TEST_F(AgentUsageMetering, AStateThatCannotBeReadIsAnError) {
    spool_.fault = fail(Code::unavailable, "input/output error");
    EXPECT_FALSE(agent_->recover());
}

}  // namespace
}  // namespace tessera
