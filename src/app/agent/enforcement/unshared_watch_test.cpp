// Goal: a container that runs without its share is reported once, and restarted if that is
// configured. A container that the runtime removes, and any other process, are not affected.
#include "app/agent/enforcement/unshared_watch.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"

namespace tessera {
namespace {

class UnsharedWatchTest : public testing::Test {
  protected:
    UnsharedWatchTest() {
        processes_.pods = {{7, PodUid("a")}};
        processes_.starts = {{7, 100}};
    }
    static UnsharedContainer container(std::int64_t pid = 7) {
        return {.id = "id",
                .name = "main",
                .pod_uid = PodUid("a"),
                .pod = {"team", "a"},
                .pid = pid,
                .reason = "no device"};
    }

    FakeProcessTable processes_;
    FakePodEvents events_;
    UnsharedWatch watch_{{processes_, events_}, false};
    UnsharedWatch strict_{{processes_, events_}, true};
};

TEST_F(UnsharedWatchTest, ReportsOnce) {
    watch_.found(container());
    watch_.look();
    EXPECT_TRUE(events_.reported.empty()) << "the runtime may be about to remove the container";
    watch_.look();
    watch_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(events_.reported[0].name, (PodName{"team", "a"}));
    EXPECT_EQ(events_.reported[0].reason, kShareMissing);
    EXPECT_EQ(events_.reported[0].message,
              "Container main runs without its GPU share: no device. Delete the pod, so that it is "
              "created again");
    EXPECT_TRUE(processes_.ended.empty());
}

TEST_F(UnsharedWatchTest, RestartsWhereWanted) {
    strict_.found(container());
    strict_.look();
    EXPECT_TRUE(processes_.ended.empty());
    strict_.look();
    EXPECT_EQ(processes_.ended, std::vector<std::int64_t>{7});
    EXPECT_NE(events_.reported.at(0).message.find("is restarted"), std::string::npos);
    strict_.look();
    EXPECT_EQ(processes_.ended.size(), 2U) << "the process is still there";
    EXPECT_EQ(events_.reported.size(), 1U);
}

// Goal: the process of a refused container ends, and its pid may belong to another pod by the next
// look.
TEST_F(UnsharedWatchTest, LeavesOthersAlone) {
    strict_.found(container());
    strict_.look();
    processes_.starts[7] = 200;
    strict_.look();
    strict_.found(container());
    processes_.pods[7] = PodUid("b");
    strict_.look();
    strict_.found(container(0));  // a runtime that names no process
    strict_.look();
    strict_.look();
    EXPECT_TRUE(events_.reported.empty());
    EXPECT_TRUE(processes_.ended.empty());
}

TEST_F(UnsharedWatchTest, TellsAgain) {
    watch_.found(container());
    watch_.look();
    events_.next_error = Error{Code::unavailable, "away"};
    watch_.look();
    EXPECT_TRUE(events_.reported.empty());
    watch_.look();
    EXPECT_EQ(events_.reported.size(), 1U);
}

}  // namespace
}  // namespace tessera
