// Goal: a pod that bypasses the guard is detected, reported once, and its process is killed if that
// is configured. No other pod's process is.
#include "app/agent/enforcement/bypass_detector.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/log.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"
#include "testing/fakes/fake_shares.hpp"

namespace tessera {
namespace {

class BypassDetectorTest : public testing::Test {
  protected:
    void SetUp() override {
        processes_.pods = {{7, PodUid("bypassing")}, {8, PodUid("honest")}};
        shares_.used = {share("bypassing"), share("honest")};
        use(gibibytes(5));
    }
    static ShareUse share(const char* pod) {
        return {.pod = PodUid(pod),
                .name = {"s", pod},
                .container = "main",
                .gpu = GpuUuid("GPU-a"),
                .used = gibibytes(1),
                .processes = {{.pid = 1, .used = gibibytes(1)}}};
    }
    // Sets what the bypassing pod's process uses. The honest one uses its limit and a context.
    void use(Bytes amount) {
        driver_.set_processes(
            std::vector<GpuProcess>{{GpuUuid("GPU-a"), 7, amount},
                                    {GpuUuid("GPU-a"), 8, gibibytes(1) + mebibytes(500)},
                                    {GpuUuid("GPU-a"), 9, gibibytes(9)}});
    }
    void look(int times) {
        for (int i = 0; i < times; i++)
            watch_.look();
    }

    FakeGpuInventory driver_;
    FakeProcessTable processes_;
    FakeShareMeter shares_;
    FakeEnforcer enforcer_;
    FakePodEvents events_;
    BypassDetector watch_{{driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600)}};
};

TEST_F(BypassDetectorTest, TellsOnceOfWhoIsFoundThreeTimes) {
    look(2);
    EXPECT_TRUE(watch_.found().empty());
    EXPECT_TRUE(events_.reported.empty());
    look(2);
    ASSERT_EQ(watch_.found().size(), 1U);
    EXPECT_EQ(watch_.found()[0].pod, PodUid("bypassing"));
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(
        events_.reported[0].message,
        "The driver says that this pod uses 5Gi of GPU-a, and the guard counts 1Gi: a "
        "program bypasses the guard, or the driver keeps more memory for its contexts, modules "
        "and graphs than the guard knows of");
    EXPECT_TRUE(processes_.ended.empty()) << "killing is not configured";
}

TEST_F(BypassDetectorTest, AnAccidentIsNothing) {
    look(2);
    use(gibibytes(1));
    look(1);
    use(gibibytes(5));
    look(2);
    EXPECT_TRUE(watch_.found().empty());
    look(1);
    EXPECT_EQ(watch_.found().size(), 1U);
    use(gibibytes(1));
    look(1);
    EXPECT_TRUE(watch_.found().empty()) << "the bypass has stopped";
}

// Goal: if killing is configured, a process that the guard does not count is killed, and its user
// gets an event first.
TEST_F(BypassDetectorTest, EndsWhatTheGuardDoesNotCount) {
    BypassDetector ending({driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600), .kills_them = true});
    processes_.inner_pids[7] = 33;
    for (int i = 0; i < 3; i++)
        ending.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_NE(events_.reported[0].message.find(", and is killed"), std::string::npos);
    EXPECT_TRUE(processes_.ended.empty()) << "it is reported first";
    ending.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
}

// Goal: an honest program whose driver takes more than the allowance, for graphs or modules, is
// reported and never killed. The same holds for a process whose pid in its container is unknown.
TEST_F(BypassDetectorTest, NeverEndsWhatTheGuardCounts) {
    BypassDetector ending({driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600), .kills_them = true});
    processes_.inner_pids[7] = 1;  // the pid that the accounts have
    for (int i = 0; i < 9; i++)
        ending.look();
    processes_.inner_pids.clear();
    for (int i = 0; i < 9; i++)
        ending.look();
    EXPECT_TRUE(processes_.ended.empty());
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_NE(events_.reported[0].message.find("or the driver keeps more memory"),
              std::string::npos);
}

// Goal: two containers of a pod have processes with the same pid. The process that bypasses the
// guard is killed, and the one that is counted is not.
TEST_F(BypassDetectorTest, KnowsProcessesByTheirContainer) {
    BypassDetector ending({driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600), .kills_them = true});
    ShareUse side = share("bypassing");
    side.container = "side";
    side.processes = {};
    shares_.used.push_back(side);
    driver_.set_processes(std::vector<GpuProcess>{{GpuUuid("GPU-a"), 7, gibibytes(1)},
                                                  {GpuUuid("GPU-a"), 70, gibibytes(5)}});
    processes_.pods[70] = PodUid("bypassing");
    processes_.inner_pids = {{7, 1}, {70, 1}};
    for (int i = 0; i < 9; i++)
        ending.look();
    EXPECT_TRUE(processes_.ended.empty()) << "either process may be the one that is counted";
    enforcer_.containers = {{7, "main"}, {70, "side"}};
    ending.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{70});
}

// Goal: a pod without a share is found and left alone: it may only monitor GPUs. It gets no event.
TEST_F(BypassDetectorTest, LeavesPodsWithoutAShareAlone) {
    BypassDetector ending({driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600), .kills_them = true});
    processes_.pods[7] = PodUid("stranger");
    processes_.inner_pids[7] = 33;
    for (int i = 0; i < 9; i++)
        ending.look();
    ASSERT_EQ(ending.found().size(), 1U);
    EXPECT_EQ(ending.found()[0].pod, PodUid("stranger"));
    EXPECT_TRUE(processes_.ended.empty());
    EXPECT_TRUE(events_.reported.empty());
}

// Goal: no process is killed before the pod event that says why was created.
TEST_F(BypassDetectorTest, KillsOnlyWhatItReported) {
    BypassDetector ending({driver_, processes_, shares_, Enforcers({&enforcer_}), events_},
                          {.allowance = mebibytes(600), .kills_them = true});
    processes_.inner_pids[7] = 44;
    for (int i = 0; i < 6; i++) {
        events_.next_error = Error{Code::unavailable, "away"};
        ending.look();
    }
    EXPECT_TRUE(processes_.ended.empty());
    events_.next_error = {};
    ending.look();
    EXPECT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
}

// Goal: an event that could not be created is created at the next look.
TEST_F(BypassDetectorTest, TellsAgainWhatNobodyHeard) {
    events_.next_error = {Code::unavailable, "away"};
    look(3);
    EXPECT_TRUE(events_.reported.empty());
    look(2);
    EXPECT_EQ(events_.reported.size(), 1U);
}

// Goal: GPU memory that no process or share accounts for is reported once, after three looks, and
// listed while it is in use. No process is killed for it.
TEST_F(BypassDetectorTest, TellsOfMemoryThatNobodyHas) {
    const auto in_use = [this](Bytes used) {
        driver_.set(std::vector<GpuReading>{{.uuid = GpuUuid("GPU-a"), .used = used}});
    };
    const auto before = event_count(Event::memory_unclaimed);
    const Bytes claimed = gibibytes(5 + 1 + 9) + mebibytes(500);
    in_use(claimed + mebibytes(600));
    look(3);
    EXPECT_TRUE(watch_.unclaimed().empty());
    in_use(claimed + gibibytes(3));
    look(2);
    EXPECT_TRUE(watch_.unclaimed().empty());
    look(2);
    ASSERT_EQ(watch_.unclaimed().size(), 1U);
    EXPECT_EQ(watch_.unclaimed()[0].claimed, claimed);
    EXPECT_EQ(event_count(Event::memory_unclaimed), before + 1);
    driver_.set_processes(fail(Code::unavailable, "the driver is being replaced"));
    look(1);
    EXPECT_TRUE(watch_.unclaimed().empty());
    EXPECT_TRUE(processes_.ended.empty());
}

// Goal: while the driver cannot be read, earlier findings are not reported as current.
TEST_F(BypassDetectorTest, KnowsNobodyWhileItIsBlind) {
    look(3);
    ASSERT_EQ(watch_.found().size(), 1U);
    driver_.set_processes(fail(Code::unavailable, "the driver is being replaced"));
    look(1);
    EXPECT_TRUE(watch_.found().empty());
    use(gibibytes(5));
    look(2);
    EXPECT_TRUE(watch_.found().empty()) << "it needs three looks in a row";
}

// Goal: if the driver does not name processes, nothing is found, and the log says so once.
TEST_F(BypassDetectorTest, SaysThatItIsBlind) {
    const auto before = event_count(Event::bypass_detection_failed);
    driver_.set_processes(std::vector<GpuProcess>{{GpuUuid("GPU-a"), 0, gibibytes(5)}});
    look(4);
    driver_.set_processes(fail(Code::unsupported, "too old"));
    look(1);
    EXPECT_EQ(event_count(Event::bypass_detection_failed), before + 1);
    EXPECT_TRUE(watch_.found().empty());
}

}  // namespace
}  // namespace tessera
