#include "domain/metering/usage_meter.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "domain/budget/gpu_duration.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kStart = 1'800'000'000;  // the start of an interval

MeteredShare share(std::int64_t gib = 3, int compute = 25) {
    return {.container = "main",
            .gpu = GpuUuid("GPU-a"),
            .model = "A100",
            .memory = gibibytes(gib),
            .capacity = gibibytes(80),
            .compute = Percent{compute}};
}

MeteredPod pod(std::vector<MeteredShare> shares = {share()}) {
    return {.name = {"lab", "train"}, .shares = std::move(shares)};
}

using Pods = std::map<PodUid, MeteredPod>;

// What the records charge; each of them must be one that can be charged.
std::int64_t seconds_of(const std::vector<UsageRecord>& records) {
    std::int64_t sum = 0;
    for (const UsageRecord& record : records) {
        EXPECT_TRUE(check_record(record));
        sum += record.time.seconds();
    }
    return sum;
}

// A node's clocks, in seconds since the test began.
struct Node {
    UsageMeter meter;
    std::vector<UsageRecord> records;

    void observe(const Pods& pods, double running_s, double wall_s, const char* boot = "b1") {
        const MeterTime now{
            .boot = boot,
            .running_ns = static_cast<std::int64_t>(running_s * 1e9),
            .unix_ns = kStart * kNanosPerSecond + static_cast<std::int64_t>(wall_s * 1e9)};
        for (UsageRecord& record : meter.observe(pods, now))
            records.push_back(std::move(record));
    }
    void kill() { meter = UsageMeter(meter.state()); }
    // The times of the records, relative to the start.
    [[nodiscard]] std::vector<Window> windows() const {
        std::vector<Window> out;
        for (const UsageRecord& record : records) {
            EXPECT_TRUE(check_record(record));
            out.push_back({record.time.from_s - kStart, record.time.to_s - kStart});
        }
        return out;
    }
};

using Windows = std::vector<Window>;
const Pods kOne = {{PodUid("u1"), pod()}};

// Goal: each interval is one record, and the first and the last are as long as the pod was there.
TEST(UsageMeter, ChargesTheTimeOfAPod) {
    Node node;
    for (int s = 50; s < 150; s += 5)
        node.observe(kOne, s, s);
    EXPECT_EQ(node.windows(), (Windows{{50, 60}, {60, 120}}));
    node.observe({}, 151, 151);
    EXPECT_EQ(node.windows(), (Windows{{50, 60}, {60, 120}, {120, 151}}));
    EXPECT_TRUE(node.meter.state().pods.empty());
    const UsageRecord& record = node.records.front();
    EXPECT_EQ(record.pod, PodUid("u1"));
    EXPECT_EQ(record.name, (PodName{"lab", "train"}));
    EXPECT_EQ(record.memory, gibibytes(3));
    EXPECT_EQ(record.compute, Percent{25});
}

TEST(UsageMeter, PartsOfSecondsAreNotLost) {
    Node node;
    for (int i = 0; i <= 600; ++i)
        node.observe(kOne, i * 0.1, i * 0.1);
    node.observe({}, 60, 60);
    EXPECT_EQ(node.windows(), (Windows{{0, 60}}));
}

// Goal: a longer pause, in which several intervals end, is charged.
TEST(UsageMeter, SeveralIntervalsAtATime) {
    Node node;
    node.observe(kOne, 10, 10);
    node.observe(kOne, 130, 130);
    EXPECT_EQ(node.windows(), (Windows{{10, 60}, {60, 120}}));
}

// Goal: an agent that was away for a week makes a record for each hour, not for each minute.
TEST(UsageMeter, AnHourIsOneRecord) {
    Node node;
    node.observe(kOne, 3'530, 3'530);
    node.observe(kOne, 11'000, 11'000);
    node.observe({}, 11'010, 11'010);
    EXPECT_EQ(node.windows(), (Windows{{3'530, 3'540},
                                       {3'540, 3'600},
                                       {3'600, 7'200},
                                       {7'200, 10'800},
                                       {10'800, 10'980},
                                       {10'980, 11'010}}));
}

TEST(UsageMeter, AClockThatIsSetBackChangesNothing) {
    Node node;
    node.observe(kOne, 0, 86'400);
    node.observe(kOne, 65, 86'465);
    node.observe(kOne, 70, 70);  // a day back
    node.observe(kOne, 125, 125);
    node.observe({}, 130, 130);
    EXPECT_EQ(node.windows(), (Windows{{86'400, 86'460}, {86'460, 86'520}, {86'520, 86'530}}));
}

// Goal: the records follow a clock that is set forward, and the pod is charged for what passed.
TEST(UsageMeter, AClockThatIsSetForwardIsFollowed) {
    Node node;
    node.observe(kOne, 0, 0);
    node.observe(kOne, 30, 30);
    node.observe(kOne, 35, 86'435);
    node.observe(kOne, 90, 86'490);
    node.observe({}, 100, 86'500);
    EXPECT_EQ(node.windows(), (Windows{{0, 30}, {86'430, 86'460}, {86'460, 86'500}}));
}

// Goal: no gap within an interval, which would be charged.
TEST(UsageMeter, SmallStepsForwardAreFollowedInTheNextInterval) {
    Node node;
    node.observe(kOne, 0, 0);
    node.observe(kOne, 10, 25);
    node.observe(kOne, 20, 35);
    node.observe(kOne, 50, 65);
    node.observe({}, 60, 75);
    EXPECT_EQ(seconds_of(node.records), 60);
}

TEST(UsageMeter, WhatPassedWithoutAnAgentIsCharged) {
    Node node;
    node.observe(kOne, 0, 0);
    node.observe(kOne, 70, 70);
    node.kill();
    node.observe(kOne, 190, 190);
    node.observe({}, 200, 200);
    EXPECT_EQ(seconds_of(node.records), 200);
}

TEST(UsageMeter, APodThatEndsWithoutAnAgentIsChargedUntilTheAgentEnded) {
    Node node;
    node.observe(kOne, 0, 0);
    node.observe(kOne, 30, 30);
    node.kill();
    node.observe({}, 500, 500);
    EXPECT_EQ(node.windows(), (Windows{{0, 30}}));
}

TEST(UsageMeter, AMachineThatIsOffIsNotCharged) {
    Node node;
    node.observe(kOne, 1'000, 0);
    node.observe(kOne, 1'030, 30);
    node.kill();
    node.observe(kOne, 20, 3'600, "b2");
    node.observe({}, 40, 3'620, "b2");
    EXPECT_EQ(node.windows(), (Windows{{0, 30}, {3'600, 3'620}}));
}

// Goal: a tenant who lowers a share for the end of each interval pays for the larger one.
TEST(UsageMeter, TheLargestAmountsOfAnIntervalCount) {
    Node node;
    node.observe({{PodUid("u1"), pod({share(3, 25)})}}, 0, 0);
    node.observe({{PodUid("u1"), pod({share(10, 50)})}}, 10, 10);
    node.observe({{PodUid("u1"), pod({share(1, 5)})}}, 50, 50);
    node.observe({{PodUid("u1"), pod({share(1, 5)})}}, 130, 130);
    ASSERT_EQ(node.windows(), (Windows{{0, 60}, {60, 120}}));
    EXPECT_EQ(node.records[0].memory, gibibytes(10));
    EXPECT_EQ(node.records[0].compute, Percent{50});
    EXPECT_EQ(node.records[1].memory, gibibytes(1));
}

TEST(UsageMeter, ANodeWithoutAClockMeters) {
    for (const std::int64_t unix_ns :
         {std::int64_t{-5}, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
        UsageMeter meter;
        std::vector<UsageRecord> records;
        for (const std::int64_t s : {0, 30, 90, 150}) {
            for (UsageRecord& record : meter.observe(kOne, {"b", s * kNanosPerSecond, unix_ns}))
                records.push_back(std::move(record));
        }
        for (UsageRecord& record : meter.observe({}, {"b", 160 * kNanosPerSecond, unix_ns}))
            records.push_back(std::move(record));
        EXPECT_EQ(seconds_of(records), 160) << unix_ns;
    }
}

// A node whose agent is killed at any instant, whose wall clock jumps, and that is switched off.
// The agent writes the records first and then its state, as the real one does, and may be killed in
// between.
class RandomNode {
  public:
    explicit RandomNode(std::uint32_t seed) : random_(seed) {}

    void run() {
        for (int step = 0; step < 400; ++step)
            this->step();
        while (!agent_)
            start_agent();
        pods_.clear();
        observe(false);
    }

    // How long pods were there.
    std::int64_t allocated_ns = 0;
    std::int64_t unseen_ns = 0;  // of pods that ended without an agent
    std::int64_t torn_ns = 0;    // one interval for each pod, where an agent was killed in between
    int pods = 0;
    int kills = 0;
    int jumps = 0;
    std::vector<UsageRecord> written;

  private:
    int upto(int most) { return std::uniform_int_distribution<>(0, most)(random_); }

    void start_agent() {
        agent_.emplace(durable_);
        observe();
    }

    void observe(bool may_die = true) {
        const MeterState before = agent_->state();
        const auto records = agent_->observe(pods_, {boot_, running_ns_, wall_ns_});
        written.insert(written.end(), records.begin(), records.end());
        if (may_die && upto(50) == 0) {
            // After the records, before the state. If the clock also jumps, the next agent may make
            // other records of the same time.
            torn_ns +=
                static_cast<std::int64_t>(before.pods.size()) * kIntervalSeconds * kNanosPerSecond;
            return kill_agent();
        }
        if (!records.empty() || before.pods.size() != agent_->state().pods.size() ||
            before.boot != agent_->state().boot) {
            durable_ = agent_->state();
        }
    }

    void kill_agent() {
        agent_.reset();
        ++kills;
    }

    void pass(std::int64_t ns) {
        running_ns_ += ns;
        wall_ns_ += ns;
        for (const auto& [uid, pod] : pods_) {
            allocated_ns += ns;
            since_agent_[uid] = agent_ ? 0 : since_agent_[uid] + ns;
        }
    }

    void step() {
        pass(upto(12'000) * 1'000'000LL);
        if (upto(9) == 0 && agent_) {
            // Pods start only while an agent runs, because it completes their containers.
            pods_.emplace(PodUid("u" + std::to_string(++pods)), pod());
            observe(false);
        }
        if (upto(14) == 0 && !pods_.empty()) end_pod();
        if (upto(29) == 0) {
            wall_ns_ += (upto(1) == 0 ? -1 : 1) * upto(200) * kNanosPerSecond;
            ++jumps;
        }
        if (upto(199) == 0) reboot();
        if (agent_ && upto(39) == 0) {
            kill_agent();
        } else if (!agent_ && upto(3) == 0) {
            start_agent();
        } else if (agent_) {
            observe();
        }
    }

    void end_pod() {
        auto at = pods_.begin();
        std::advance(at, upto(static_cast<int>(pods_.size()) - 1));
        // What the last durable state does not have of it is lost, too: one interval at most.
        if (!agent_) unseen_ns += since_agent_[at->first] + 60 * kNanosPerSecond;
        pods_.erase(at);
        if (agent_) observe();
    }

    void reboot() {
        if (agent_) kill_agent();
        boot_ += "x";
        running_ns_ = upto(100) * kNanosPerSecond;
        wall_ns_ += upto(600) * kNanosPerSecond;
        // The last interval before it is lost.
        unseen_ns += static_cast<std::int64_t>(pods_.size()) * 60 * kNanosPerSecond;
        for (const auto& [uid, pod] : pods_)
            unseen_ns += since_agent_[uid];
    }

    std::mt19937 random_;
    std::optional<UsageMeter> agent_{UsageMeter()};
    MeterState durable_;
    Pods pods_;
    std::map<PodUid, std::int64_t> since_agent_;
    std::string boot_ = "b";
    std::int64_t running_ns_ = 0;
    std::int64_t wall_ns_ = kStart * kNanosPerSecond;
};

// Goal: whatever happens, the charge is what was allocated, but for one interval.
TEST(UsageMeter, RandomNodesAreChargedOnce) {
    for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
        RandomNode node(seed);
        node.run();
        SCOPED_TRACE(seed);
        const std::int64_t charged_s = seconds_of(distinct_records(node.written));
        // Each jump may cut a second.
        const std::int64_t rest_s = node.torn_ns / kNanosPerSecond + node.pods * (1 + node.jumps);
        const std::int64_t allocated_s = node.allocated_ns / kNanosPerSecond;
        ASSERT_LE(charged_s, allocated_s + rest_s) << seed;
        ASSERT_GE(charged_s, allocated_s - node.unseen_ns / kNanosPerSecond - rest_s) << seed;
    }
}

}  // namespace
}  // namespace tessera
