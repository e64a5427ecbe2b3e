// Goal: containers are held to the newest allocation of their pod, whatever starts, ends or gets
// lost when. Method: what a watch shows, and what is held then.
#include "app/agent/limit_follower.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_live_limits.hpp"

namespace tessera {
namespace {

using Shares = std::vector<HeldShare>;

class LimitFollowerTest : public testing::Test {
  protected:
    static Shares shares(int gib) { return {{GpuUuid("GPU-a"), gibibytes(gib), {}}}; }
    static PodFacts pod(int gib, std::int64_t revision, const std::string& node = "n1") {
        PodFacts pod = build::pod("p", build::native(gibibytes(4)));
        auto allocation =
            build::allocation(pod, node, {{.uuid = GpuUuid("GPU-a"), .memory = gibibytes(gib)}});
        allocation.revision = revision;
        return build::bound(pod, allocation);
    }
    void show(const PodFacts& pod) {
        follower_.take({.present = {pod}, .removed = {}, .all = {}});
        follower_.apply();
    }
    [[nodiscard]] const Shares& held() const { return limits_.held.at("uid-p/main"); }

    FakeLiveLimits limits_;
    LimitFollower follower_{limits_, NodeName("n1")};
};

TEST_F(LimitFollowerTest, WhatWasResizedIsChangedAndKept) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(4, 0));
    EXPECT_EQ(limits_.keeps, 0) << "it was not resized";
    PodFacts resized = pod(6, 1);
    (**resized.allocation).containers[0].gpus[0].cores = {20};
    (**resized.allocation).containers[0].gpus[0].ceiling = {50};
    show(resized);
    EXPECT_EQ(held(), (Shares{{GpuUuid("GPU-a"), gibibytes(6), {20}, {50}}}));
    EXPECT_EQ(limits_.kept(PodUid("uid-p")).value()->revision, 1);
    follower_.apply();
    EXPECT_EQ(limits_.keeps, 1) << "once";
    show(pod(2, 2));
    EXPECT_EQ(held(), shares(2));
}

// What the controller once signed is signed still.
TEST_F(LimitFollowerTest, AnOlderOneThatComesBackCountsNoMore) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(6, 1));
    show(pod(2, 2));
    show(pod(6, 1));
    EXPECT_EQ(held(), shares(2));
    LimitFollower after_a_restart(limits_, NodeName("n1"));
    after_a_restart.take({.present = {pod(6, 1)}, .removed = {}, .all = {}});
    after_a_restart.apply();
    EXPECT_EQ(held(), shares(2));
}

// The runtime tells what was when the pod's sandbox was made.
TEST_F(LimitFollowerTest, AContainerThatWasMadeOfAnOlderOneFollows) {
    show(pod(6, 1));
    EXPECT_TRUE(limits_.held.empty());
    limits_.start("uid-p", "main", shares(4));
    follower_.apply();
    EXPECT_EQ(held(), shares(6));
}

TEST_F(LimitFollowerTest, NothingChangesThatCannotBeKept) {
    limits_.start("uid-p", "main", shares(4));
    limits_.fail_next_keep({Code::unavailable, "no space left"});
    show(pod(6, 1));
    EXPECT_EQ(held(), shares(4)) << "the next start would undo it";
    follower_.apply();
    EXPECT_EQ(held(), shares(6));
    limits_.spoil();
    follower_.apply();
    EXPECT_TRUE(limits_.kept(PodUid("uid-p"))) << "what cannot be read is written anew";
}

TEST_F(LimitFollowerTest, WhatCountsForNobodyChangesNothing) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(6, 1, "n2"));
    PodFacts copied = pod(6, 1);
    (**copied.allocation).pod = PodUid("another");
    show(copied);
    PodFacts unsigned_ = pod(6, 1);
    unsigned_.allocation = fail(Code::permission_denied, "not ours");
    show(unsigned_);
    PodFacts elsewhere = pod(6, 1);
    (**elsewhere.allocation).containers[0].container = "../uid-q/main";
    show(elsewhere);
    PodFacts whole = pod(6, 1);
    (**whole.allocation).containers[0].gpus[0].whole = true;
    show(whole);
    EXPECT_EQ(held(), shares(4));
}

TEST_F(LimitFollowerTest, WhoIsGoneIsForgotten) {
    const auto is_forgotten = [&](const PodChanges& changes) {
        show(pod(6, 1));
        follower_.take(changes);
        limits_.start("uid-p", "main", shares(4));
        follower_.apply();
        return held() == shares(4);
    };
    EXPECT_TRUE(is_forgotten({.present = {}, .removed = {PodUid("uid-p")}, .all = {}}));
    EXPECT_TRUE(is_forgotten({.present = {}, .removed = {}, .all = std::set<PodUid>{}}));
    PodFacts finished = pod(6, 1);
    finished.finished = true;
    EXPECT_TRUE(is_forgotten({.present = {finished}, .removed = {}, .all = {}}));
    EXPECT_FALSE(is_forgotten({.present = {}, .removed = {}, .all = {{PodUid("uid-p")}}}));
}

TEST_F(LimitFollowerTest, DoesWhatItIsShownUntilItIsStopped) {
    limits_.start("uid-p", "main", shares(4));
    std::stop_source stop;
    std::jthread thread([&] { follower_.run(stop.get_token()); });
    follower_.take_trouble({Code::unavailable, "no answer"});
    follower_.take({.present = {pod(6, 1)}, .removed = {}, .all = {}});
    while (!limits_.kept(PodUid("uid-p")).value())
        std::this_thread::yield();
    stop.request_stop();
    thread = {};
}

}  // namespace
}  // namespace tessera
