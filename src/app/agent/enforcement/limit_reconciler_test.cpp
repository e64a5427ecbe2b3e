// Goal: the newest allocation of a pod is enforced for its containers, in whatever order they
// start, end or lose their files. Method: compares what a watch shows with what is enforced.
#include "app/agent/enforcement/limit_reconciler.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_shares.hpp"

namespace tessera {
namespace {

using Shares = std::vector<EnforcedShare>;

class LimitReconcilerTest : public testing::Test {
  protected:
    static Shares shares(int gib) { return {{GpuUuid("GPU-a"), gibibytes(gib), {}}}; }
    static PodInfo pod(int gib, std::int64_t revision, const std::string& node = "n1") {
        PodInfo pod = build::pod("p", build::native(gibibytes(4)));
        auto allocation =
            build::allocation(pod, node, {{.uuid = GpuUuid("GPU-a"), .memory = gibibytes(gib)}});
        allocation.revision = revision;
        return build::bound(pod, allocation);
    }
    void show(const PodInfo& pod) {
        reconciler_.take({.upserted = {pod}, .deleted = {}, .listed = {}});
        reconciler_.apply();
    }
    [[nodiscard]] const Shares& enforced() const { return limits_.in_force.at("uid-p/main"); }

    FakeEnforcer limits_;
    FakeResizedAllocations resized_;
    LimitReconciler reconciler_{Enforcers({&limits_}), resized_, NodeName("n1")};
};

TEST_F(LimitReconcilerTest, WhatWasResizedIsChangedAndKept) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(4, 0));
    EXPECT_EQ(resized_.keeps, 0) << "the pod was not resized";
    PodInfo resized = pod(6, 1);
    (**resized.allocation).containers[0].gpus[0].cores = {20};
    (**resized.allocation).containers[0].gpus[0].cores_limit = {50};
    show(resized);
    EXPECT_EQ(enforced(), (Shares{{GpuUuid("GPU-a"), gibibytes(6), {20}, {50}}}));
    EXPECT_EQ(resized_.kept(PodUid("uid-p")).value()->revision, 1);
    reconciler_.apply();
    EXPECT_EQ(resized_.keeps, 1) << "once";
    show(pod(2, 2));
    EXPECT_EQ(enforced(), shares(2));
}

// An older allocation that the controller signed still has a valid signature.
TEST_F(LimitReconcilerTest, AnOlderOneThatComesBackCountsNoMore) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(6, 1));
    show(pod(2, 2));
    show(pod(6, 1));
    EXPECT_EQ(enforced(), shares(2));
    LimitReconciler after_a_restart(Enforcers({&limits_}), resized_, NodeName("n1"));
    after_a_restart.take({.upserted = {pod(6, 1)}, .deleted = {}, .listed = {}});
    after_a_restart.apply();
    EXPECT_EQ(enforced(), shares(2));
}

// The runtime passes the allocation from the creation of the pod's sandbox.
TEST_F(LimitReconcilerTest, AContainerThatWasMadeOfAnOlderOneFollows) {
    show(pod(6, 1));
    EXPECT_TRUE(limits_.in_force.empty());
    limits_.start("uid-p", "main", shares(4));
    reconciler_.apply();
    EXPECT_EQ(enforced(), shares(6));
}

TEST_F(LimitReconcilerTest, NothingChangesThatCannotBeKept) {
    limits_.start("uid-p", "main", shares(4));
    resized_.fail_next_keep({Code::unavailable, "no space left"});
    show(pod(6, 1));
    EXPECT_EQ(enforced(), shares(4)) << "the next start would undo the change";
    reconciler_.apply();
    EXPECT_EQ(enforced(), shares(6));
    resized_.spoil();
    reconciler_.apply();
    EXPECT_TRUE(resized_.kept(PodUid("uid-p"))) << "an unreadable allocation is replaced";
}

TEST_F(LimitReconcilerTest, WhatCountsForNobodyChangesNothing) {
    limits_.start("uid-p", "main", shares(4));
    show(pod(6, 1, "n2"));
    PodInfo copied = pod(6, 1);
    (**copied.allocation).pod = PodUid("another");
    show(copied);
    PodInfo unsigned_ = pod(6, 1);
    unsigned_.allocation = fail(Code::permission_denied, "not ours");
    show(unsigned_);
    PodInfo elsewhere = pod(6, 1);
    (**elsewhere.allocation).containers[0].container = "../uid-q/main";
    show(elsewhere);
    PodInfo whole = pod(6, 1);
    (**whole.allocation).containers[0].gpus[0].whole = true;
    show(whole);
    EXPECT_EQ(enforced(), shares(4));
}

TEST_F(LimitReconcilerTest, WhoIsGoneIsForgotten) {
    const auto is_forgotten = [&](const PodChanges& changes) {
        show(pod(6, 1));
        reconciler_.take(changes);
        limits_.start("uid-p", "main", shares(4));
        reconciler_.apply();
        return enforced() == shares(4);
    };
    EXPECT_TRUE(is_forgotten({.upserted = {}, .deleted = {PodUid("uid-p")}, .listed = {}}));
    EXPECT_TRUE(is_forgotten({.upserted = {}, .deleted = {}, .listed = std::set<PodUid>{}}));
    PodInfo finished = pod(6, 1);
    finished.finished = true;
    EXPECT_TRUE(is_forgotten({.upserted = {finished}, .deleted = {}, .listed = {}}));
    EXPECT_FALSE(is_forgotten({.upserted = {}, .deleted = {}, .listed = {{PodUid("uid-p")}}}));
}

TEST_F(LimitReconcilerTest, DoesWhatItIsShownUntilItIsStopped) {
    limits_.start("uid-p", "main", shares(4));
    std::stop_source stop;
    std::jthread thread([&] { reconciler_.run(stop.get_token()); });
    reconciler_.take_error({Code::unavailable, "no answer"});
    reconciler_.take({.upserted = {pod(6, 1)}, .deleted = {}, .listed = {}});
    while (!resized_.kept(PodUid("uid-p")).value())
        std::this_thread::yield();
    stop.request_stop();
    thread = {};
    EXPECT_EQ(enforced(), shares(6));
}

}  // namespace
}  // namespace tessera
