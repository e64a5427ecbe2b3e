// Goal: who goes past the guard is found, told of once, and ended where that is asked for; nobody
// else ever is.
#include "app/agent/evader_watch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/log.hpp"
#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"

namespace tessera {
namespace {

class EvaderWatchTest : public testing::Test {
  protected:
    void SetUp() override {
        processes_.pods = {{7, PodUid("evader")}, {8, PodUid("honest")}};
        shares_.used = {share("evader"), share("honest")};
        use(gibibytes(5));
    }
    static ShareUse share(const char* pod) {
        return {.pod = PodUid(pod),
                .name = {"s", pod},
                .container = "main",
                .card = GpuUuid("GPU-a"),
                .held = gibibytes(1),
                .processes = {{.pid = 1, .held = gibibytes(1)}}};
    }
    // The evader's process; the other's uses what it holds, and a context.
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
    FakeShareHolder shares_;
    FakePodEvents events_;
    EvaderWatch watch_{{driver_, processes_, shares_, events_}, {.allowance = mebibytes(600)}};
};

TEST_F(EvaderWatchTest, TellsOnceOfWhoIsFoundThreeTimes) {
    look(2);
    EXPECT_TRUE(watch_.found().empty());
    EXPECT_TRUE(events_.told.empty());
    look(2);
    ASSERT_EQ(watch_.found().size(), 1U);
    EXPECT_EQ(watch_.found()[0].pod, PodUid("evader"));
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(
        events_.told[0].message,
        "The driver says that this pod uses 5Gi of GPU-a, and the guard counts 1Gi: a "
        "program goes past the guard, or the driver keeps more memory for its contexts, modules "
        "and graphs than the guard knows of");
    EXPECT_TRUE(processes_.ended.empty()) << "it was to be reported only";
}

TEST_F(EvaderWatchTest, AnAccidentIsNothing) {
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
    EXPECT_TRUE(watch_.found().empty()) << "it has stopped";
}

// Goal: a process that the guard does not count is ended where that is asked for, and its user is
// told before.
TEST_F(EvaderWatchTest, EndsWhatTheGuardDoesNotCount) {
    EvaderWatch ending({driver_, processes_, shares_, events_},
                       {.allowance = mebibytes(600), .ends_them = true});
    processes_.inner_pids[7] = 33;
    for (int i = 0; i < 3; i++)
        ending.look();
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_NE(events_.told[0].message.find(", and is ended"), std::string::npos);
    EXPECT_TRUE(processes_.ended.empty()) << "it is told first";
    ending.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
}

// Goal: an honest program whose driver takes more than the allowance, for graphs or modules, is
// reported and never killed. So is one that cannot be told apart.
TEST_F(EvaderWatchTest, NeverEndsWhatTheGuardCounts) {
    EvaderWatch ending({driver_, processes_, shares_, events_},
                       {.allowance = mebibytes(600), .ends_them = true});
    processes_.inner_pids[7] = 1;  // as the accounts have it
    for (int i = 0; i < 9; i++)
        ending.look();
    processes_.inner_pids.clear();
    for (int i = 0; i < 9; i++)
        ending.look();
    EXPECT_TRUE(processes_.ended.empty());
    ASSERT_EQ(events_.told.size(), 1U);
    EXPECT_NE(events_.told[0].message.find("or the driver keeps more memory"), std::string::npos);
}

// Goal: of two containers of a pod with processes of one number, the one that goes past the guard
// is killed, and the one that is counted is not.
TEST_F(EvaderWatchTest, KnowsProcessesByTheirContainer) {
    EvaderWatch ending({driver_, processes_, shares_, events_},
                       {.allowance = mebibytes(600), .ends_them = true});
    ShareUse side = share("evader");
    side.container = "side";
    side.processes = {};
    shares_.used.push_back(side);
    driver_.set_processes(std::vector<GpuProcess>{{GpuUuid("GPU-a"), 7, gibibytes(1)},
                                                  {GpuUuid("GPU-a"), 70, gibibytes(5)}});
    processes_.pods[70] = PodUid("evader");
    processes_.inner_pids = {{7, 1}, {70, 1}};
    for (int i = 0; i < 9; i++)
        ending.look();
    EXPECT_TRUE(processes_.ended.empty()) << "either may be the one that is counted";
    shares_.containers = {{7, "main"}, {70, "side"}};
    ending.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{70});
}

// Goal: a pod without a share, which has no event to read, is found and left alone: it may be one
// that watches GPUs.
TEST_F(EvaderWatchTest, LeavesPodsWithoutAShareAlone) {
    EvaderWatch ending({driver_, processes_, shares_, events_},
                       {.allowance = mebibytes(600), .ends_them = true});
    processes_.pods[7] = PodUid("stranger");
    processes_.inner_pids[7] = 33;
    for (int i = 0; i < 9; i++)
        ending.look();
    ASSERT_EQ(ending.found().size(), 1U);
    EXPECT_EQ(ending.found()[0].pod, PodUid("stranger"));
    EXPECT_TRUE(processes_.ended.empty());
    EXPECT_TRUE(events_.told.empty());
}

// Goal: nothing is killed before its user could read why.
TEST_F(EvaderWatchTest, KillsOnlyWhatItReported) {
    EvaderWatch ending({driver_, processes_, shares_, events_},
                       {.allowance = mebibytes(600), .ends_them = true});
    processes_.inner_pids[7] = 44;
    for (int i = 0; i < 6; i++) {
        events_.next_error = Error{Code::unavailable, "away"};
        ending.look();
    }
    EXPECT_TRUE(processes_.ended.empty());
    events_.next_error = {};
    ending.look();
    EXPECT_EQ(events_.told.size(), 1U);
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
}

// Goal: an event that could not be told is told at the next look.
TEST_F(EvaderWatchTest, TellsAgainWhatNobodyHeard) {
    events_.next_error = {Code::unavailable, "away"};
    look(3);
    EXPECT_TRUE(events_.told.empty());
    look(2);
    EXPECT_EQ(events_.told.size(), 1U);
}

// Goal: memory of a card that is nobody's is told of once, after three looks, for as long as it is
// there; nobody is ended for it.
TEST_F(EvaderWatchTest, TellsOfMemoryThatNobodyHas) {
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

// Goal: what was seen before it went blind is not said of now.
TEST_F(EvaderWatchTest, KnowsNobodyWhileItIsBlind) {
    look(3);
    ASSERT_EQ(watch_.found().size(), 1U);
    driver_.set_processes(fail(Code::unavailable, "the driver is being replaced"));
    look(1);
    EXPECT_TRUE(watch_.found().empty());
    use(gibibytes(5));
    look(2);
    EXPECT_TRUE(watch_.found().empty()) << "three times in a row";
}

// Goal: where the driver says nothing, nobody is found, and it is said once.
TEST_F(EvaderWatchTest, SaysThatItIsBlind) {
    const auto before = event_count(Event::evaders_unseen);
    driver_.set_processes(std::vector<GpuProcess>{{GpuUuid("GPU-a"), 0, gibibytes(5)}});
    look(4);
    driver_.set_processes(fail(Code::unsupported, "too old"));
    look(1);
    EXPECT_EQ(event_count(Event::evaders_unseen), before + 1);
    EXPECT_TRUE(watch_.found().empty());
}

}  // namespace
}  // namespace tessera
