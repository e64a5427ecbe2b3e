#include "app/scheduler/leader/offender_eviction.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"
#include "testing/fakes/fake_pod_events.hpp"

namespace tessera {
namespace {

// A node with two GPUs. The pods a and b share the first one by MPS, and c has the second one.
class OffenderEvictionTest : public testing::Test {
  protected:
    OffenderEvictionTest() {
        name_offenders({});
        show("a", 0);
        show("b", 0);
        show("c", 1);
    }
    void change(const ClusterCache::Change& change) {
        cache_.post(change);
        cache_.apply();
    }
    void show(const std::string& name, int gpu, bool mps = true, bool is_terminating = false) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(3)));
        PodInfo bound = build::bound(
            pod, build::allocation(pod, "n1",
                                   {{.uuid = node_.gpus[static_cast<std::size_t>(gpu)].uuid,
                                     .index = gpu,
                                     .memory = gibibytes(3),
                                     .cores = {25},
                                     .mps = mps}}));
        bound.terminating = is_terminating;
        change([bound](ClusterState& state) { state.set_pod(bound); });
    }
    // Those that the agent names for the first GPU.
    void name_offenders(std::vector<PodUid> pods) {
        node_.gpus[0].mps_offenders = std::move(pods);
        change([node = node_](ClusterState& state) { state.set_node(node); });
    }
    std::vector<std::string> round() {
        evicting_.run_round({});
        return evictions_.writes();
    }

    using Writes = std::vector<std::string>;

    NodeInventory node_ = build::node("n1", 2, gibibytes(16));
    ClusterCache cache_{[] {}};
    FakeClock clock_;
    FakeEvictions evictions_;
    FakePodEvents events_;
    bool leads_ = true;
    OffenderEviction evicting_{
        {evictions_, events_, cache_, clock_, WriteFence([this](auto) { return leads_; })}};
};

// Goal: the offender goes, once, with an event that says why, and its neighbours stay.
TEST_F(OffenderEvictionTest, EvictsTheOffender) {
    EXPECT_EQ(round(), Writes{});
    name_offenders({PodUid("uid-a")});
    EXPECT_EQ(round(), Writes{"evict a"});
    EXPECT_EQ(round(), Writes{"evict a"});
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(events_.reported[0].pod, PodUid("uid-a"));
    EXPECT_EQ(events_.reported[0].reason, "EvictedAfterGpuErrors");
    show("a", 0, true, true);
    clock_.advance(OffenderEviction::kAgain);
    EXPECT_EQ(round(), Writes{"evict a"}) << "it ends already";
}

// Goal: an agent ends no pods but those that use MPS on that GPU of its own node.
TEST_F(OffenderEvictionTest, LeavesOthersAlone) {
    show("guarded", 0, false);
    name_offenders({PodUid("uid-c"), PodUid("uid-guarded"), PodUid("uid-elsewhere")});
    EXPECT_EQ(round(), Writes{});
}

TEST_F(OffenderEvictionTest, OnlyTheLeaderEvicts) {
    leads_ = false;
    name_offenders({PodUid("uid-a")});
    EXPECT_EQ(round(), Writes{});
    leads_ = true;
    EXPECT_EQ(round(), Writes{"evict a"});
}

// Goal: what fails is tried again later, and keeps no other pod from being evicted.
TEST_F(OffenderEvictionTest, TriesAgain) {
    evictions_.guard(PodUid("uid-a"));
    name_offenders({PodUid("uid-a"), PodUid("uid-b")});
    EXPECT_EQ(round(), Writes{"evict b"});
    EXPECT_EQ(events_.reported.size(), 1U);
    EXPECT_EQ(evictions_.questions(), 2);
    round();
    EXPECT_EQ(evictions_.questions(), 2) << "not in each round";
    evictions_.remove(PodUid("uid-b"));
    evictions_.fail_with(Error{Code::unavailable, "away"});
    clock_.advance(OffenderEviction::kAgain);
    round();
    evictions_.fail_with({});
    clock_.advance(OffenderEviction::kAgain);
    round();
    EXPECT_EQ(evictions_.writes(), Writes{"evict b"});
    EXPECT_EQ(events_.reported.size(), 1U);
}

}  // namespace
}  // namespace tessera
