// Goal: a container whose enforcement is covered or removed while it runs is reported once, and
// restarted if that is configured. No other process is affected.
#include "app/agent/enforcement/mount_watch.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"

namespace tessera {
namespace {

class MountWatchTest : public testing::Test {
  protected:
    MountWatchTest() {
        processes_.pods = {{7, PodUid("a")}, {8, PodUid("b")}};
        shares_.start("a", "main", {});
        shares_.start("b", "main", {});
    }
    static EnforcedContainer container(const std::string& pod) {
        return {PodUid(pod), {"team", pod}, "main"};
    }

    FakeEnforcer shares_;
    FakeProcessTable processes_;
    FakePodEvents events_;
    MountWatch watch_{{Enforcers({&shares_}), processes_, events_}, false};
    MountWatch strict_{{Enforcers({&shares_}), processes_, events_}, true};
};

TEST_F(MountWatchTest, ReportsOnce) {
    watch_.started(container("a"), 7);
    watch_.started(container("b"), 8);
    watch_.look();
    EXPECT_TRUE(events_.reported.empty());
    shares_.covered = {8};
    watch_.look();
    watch_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(events_.reported[0].name, (PodName{"team", "b"}));
    EXPECT_EQ(events_.reported[0].reason, kEnforcementCovered);
    EXPECT_NE(events_.reported[0].message.find("covered"), std::string::npos);
    EXPECT_TRUE(processes_.ended.empty());
}

TEST_F(MountWatchTest, RestartsWhereWanted) {
    strict_.started(container("b"), 8);
    shares_.covered = {8};
    strict_.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{8});
    EXPECT_NE(events_.reported.at(0).message.find("restarted"), std::string::npos);
}

// Goal: the pid of a process that ended belongs to another pod's process now.
TEST_F(MountWatchTest, ForgetsProcessesThatEnded) {
    strict_.started(container("a"), 7);
    processes_.pods[7] = PodUid("stranger");
    shares_.covered = {7};
    strict_.look();
    EXPECT_TRUE(events_.reported.empty());
    EXPECT_TRUE(processes_.ended.empty());
    processes_.pods[7] = PodUid("a");
    strict_.look();
    EXPECT_TRUE(processes_.ended.empty()) << "the container is not watched any more";
}

// Goal: the pid of a process that ended belongs to another process of the same pod.
TEST_F(MountWatchTest, KnowsAProcessByItsStart) {
    processes_.starts[7] = 100;
    strict_.started(container("a"), 7);
    strict_.look();
    processes_.starts[7] = 200;
    shares_.covered = {7};
    strict_.look();
    EXPECT_TRUE(events_.reported.empty());
    EXPECT_TRUE(processes_.ended.empty());
    strict_.started(container("a"), 7);
    strict_.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
}

// Goal: the event is created again if the API server could not be reached, and a container that
// starts again counts as a new one.
TEST_F(MountWatchTest, TellsAgain) {
    watch_.started(container("a"), 7);
    shares_.covered = {7, 9};
    events_.next_error = Error{Code::unavailable, "away"};
    watch_.look();
    EXPECT_TRUE(events_.reported.empty());
    watch_.look();
    EXPECT_EQ(events_.reported.size(), 1U);
    processes_.pods[9] = PodUid("a");
    watch_.started(container("a"), 9);
    watch_.look();
    EXPECT_EQ(events_.reported.size(), 2U);
}

// Goal: mounts that stay unreadable while the process is there are reported, since the agent cannot
// check whether the guard's files are still there. A process that is ending is unreadable, too, so
// it is not killed.
TEST_F(MountWatchTest, ReportsMountsThatStayUnreadable) {
    strict_.started(container("a"), 7);
    shares_.hidden = {7};
    strict_.look();
    strict_.look();
    EXPECT_TRUE(events_.reported.empty());
    shares_.hidden = {};
    strict_.look();
    shares_.hidden = {7};
    strict_.look();
    strict_.look();
    EXPECT_TRUE(events_.reported.empty()) << "not three looks in a row";
    strict_.look();
    strict_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_NE(events_.reported[0].message.find("cannot be checked"), std::string::npos);
    EXPECT_EQ(events_.reported[0].message.find("restarted"), std::string::npos);
    EXPECT_TRUE(processes_.ended.empty());
    processes_.pods.erase(7);
    strict_.look();
    EXPECT_EQ(events_.reported.size(), 1U);
}

// Goal: a container for which nothing is prepared any more is not enforced, whatever its mounts
// are.
TEST_F(MountWatchTest, ReportsWhatNothingEnforces) {
    watch_.started(container("a"), 7);
    shares_.release(PodUid("a"), "main");
    watch_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_NE(events_.reported[0].message.find("nothing on this node enforces"), std::string::npos);
}

TEST_F(MountWatchTest, WithoutAProcessThereIsNothingToWatch) {
    strict_.started(container("a"), 0);
    shares_.covered = {0};
    strict_.look();
    EXPECT_TRUE(events_.reported.empty());
}

}  // namespace
}  // namespace tessera
