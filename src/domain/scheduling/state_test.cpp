#include "domain/scheduling/state.hpp"

#include <gtest/gtest.h>

#include "domain/dialect/gpushare.hpp"
#include "domain/placement/nominees.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class State : public ::testing::Test {
  protected:
    State() { state_.set_node(build::node("n1", 2, gibibytes(16))); }

    Result<Reservation> reserve(const PodInfo& pod, const std::string& node = "n1") {
        return state_.reserve(build::request(pod), NodeName(node));
    }
    // Reserves, and returns the pod as the API server shows it after the Binding.
    PodInfo reserved(const PodInfo& pod, const std::string& node = "n1") {
        const auto reservation = reserve(pod, node);
        EXPECT_TRUE(reservation) << reservation.error().text;
        return build::bound(pod, reservation->allocation);
    }
    // Memory allocated on the GPUs of a node, in GiB; empty if the snapshot has no such node.
    std::vector<std::int64_t> allocated(const std::string& node = "n1") {
        const auto snapshot = state_.snapshot();
        const NodeInfo* found = snapshot->find(node);
        std::vector<std::int64_t> out;
        if (found == nullptr) return out;
        for (const GpuState& gpu : found->gpus)
            out.push_back(gpu.allocated.count / kGiB);
        return out;
    }
    Stage stage(const PodInfo& pod) {
        const auto snapshot = state_.snapshot();
        for (const auto& node : snapshot->nodes()) {
            for (const AssignedPodPtr& assigned_pod : node->assigned_pods) {
                if (assigned_pod->uid == pod.uid) return assigned_pod->stage;
            }
        }
        ADD_FAILURE() << pod.name.str() << " has no GPUs";
        return Stage::assumed;
    }
    std::string blocked(const std::string& node = "n1") {
        return state_.snapshot()->find(node)->blocked;
    }

    using Allocated = std::vector<std::int64_t>;
    ClusterState state_;
};

// Goal: the whole life of a pod: pending, assumed, bound, observed, finished. Its memory is
// allocated from the reservation to the end.
TEST_F(State, LifeOfAPod) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    state_.set_pod(pod);
    ASSERT_NE(state_.pending(pod.uid), nullptr);
    EXPECT_EQ(state_.pending_count(), 1U);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));

    const PodInfo bound = reserved(pod);
    EXPECT_EQ(stage(pod), Stage::assumed);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(state_.pending(pod.uid), nullptr);
    EXPECT_TRUE(state_.unconfirmed().empty());

    state_.confirm({pod.uid, 1});
    EXPECT_EQ(stage(pod), Stage::bound);
    ASSERT_EQ(state_.unconfirmed().size(), 1U);

    state_.set_pod(bound);
    EXPECT_EQ(stage(pod), Stage::observed);
    EXPECT_TRUE(state_.unconfirmed().empty());
    EXPECT_EQ(allocated(), (Allocated{8, 0}));

    PodInfo finished = bound;
    finished.finished = true;
    state_.set_pod(finished);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    state_.remove_pod(pod.uid);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: the watch may be faster than the response to the Binding: a late confirm or release changes
// nothing.
TEST_F(State, WatchOvertakesTheAnswer) {
    const PodInfo bound = reserved(build::pod("p", build::aliyun(8)));
    state_.set_pod(bound);
    state_.confirm({bound.uid, 1});
    EXPECT_EQ(stage(bound), Stage::observed);
    state_.release({bound.uid, 1});
    EXPECT_EQ(stage(bound), Stage::observed);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: a refused Binding releases everything, before and after the response was uncertain.
TEST_F(State, ReleaseGivesBack) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    reserved(pod);
    state_.release({pod.uid, 1});
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    reserved(pod);
    state_.confirm({pod.uid, 1});
    state_.release({pod.uid, 1});
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    state_.release({pod.uid, 1});
    state_.confirm({PodUid("unknown"), 1});
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: a retry never counts twice (D-14). Method: reserve again in each stage, for the same node
// and for another one.
TEST_F(State, ReserveAgain) {
    state_.set_node(build::node("n2", 2, gibibytes(16)));
    const PodInfo pod = build::pod("p", build::aliyun(8));
    const PodInfo bound = reserved(pod);
    auto again = reserve(pod);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::conflict);
    EXPECT_NE(again.error().text.find("being bound by another request"), std::string::npos);

    state_.confirm({pod.uid, 1});
    again = reserve(pod);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->kind, Reservation::Kind::write);
    EXPECT_EQ(again->allocation, **bound.allocation);

    state_.set_pod(bound);
    again = reserve(pod);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->kind, Reservation::Kind::done);
    EXPECT_EQ(again->allocation, **bound.allocation);

    again = reserve(pod, "n2");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::conflict);
    EXPECT_NE(again.error().text.find("node n1"), std::string::npos);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(allocated("n2"), (Allocated{0, 0}));
}

// Goal: the code and text of every refused reservation.
TEST_F(State, ReserveRefusals) {
    const auto unknown = reserve(build::pod("p", build::aliyun(1)), "nowhere");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error(), (Error{Code::not_found, "node \"nowhere\" not found"}));

    const auto large = reserve(build::pod("p", build::aliyun(17)));
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, Code::unavailable);
    EXPECT_TRUE(large.error().text.starts_with("Insufficient GPU Memory in one device"));

    state_.set_node(build::node("bare", 0, {}));
    const auto bare = reserve(build::pod("p", build::aliyun(1)), "bare");
    ASSERT_FALSE(bare);
    EXPECT_EQ(bare.error().code, Code::unavailable);

    NodeInventory broken = build::node("broken", 0, {});
    broken.fault = "tessera.dev/gpus: version: missing";
    state_.set_node(broken);
    const auto fault = reserve(build::pod("p", build::aliyun(1)), "broken");
    ASSERT_FALSE(fault);
    EXPECT_EQ(fault.error(), (Error{Code::unavailable, broken.fault}));
    EXPECT_EQ(blocked("broken"), broken.fault);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: a late event of the unbound pod neither releases the reservation nor makes the pod pending
// again.
TEST_F(State, StaleEventOfAReservedPod) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    const PodInfo bound = reserved(pod);
    state_.set_pod(pod);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
    state_.confirm({pod.uid, 1});
    state_.set_pod(pod);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    state_.set_pod(bound);
    state_.set_pod(pod);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: a terminating pod keeps its GPUs until it is gone (D-8).
TEST_F(State, TerminatingPodsHold) {
    PodInfo bound = reserved(build::pod("p", build::aliyun(16)));
    bound.terminating = true;
    state_.set_pod(bound);
    EXPECT_EQ(allocated(), (Allocated{16, 0}));
    bound.finished = true;
    state_.set_pod(bound);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: pods that are force-deleted and created again with the same name leak nothing (D-9).
// Method: thirty pods with one name, each with its own uid. The events of old and new pods arrive
// in one burst, deletion last.
TEST_F(State, NamesakesDoNotLeak) {
    for (int i = 0; i < 30; ++i) {
        PodInfo pod = build::pod("same-name", build::aliyun(8));
        pod.uid = PodUid("uid-" + std::to_string(i));
        const PodInfo old = build::bound(
            pod, {pod.uid,
                  NodeName("n1"),
                  &kGpushareDialect,
                  {{"main", {}, {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}}}});
        state_.set_pod(old);
        PodInfo next = old;
        next.uid = PodUid("uid-" + std::to_string(i + 1));
        next.allocation->value().pod = next.uid;
        state_.set_pod(next);
        EXPECT_EQ(allocated(), (Allocated{16, 0}));
        state_.remove_pod(old.uid);
        EXPECT_EQ(allocated(), (Allocated{8, 0}));
    }
    state_.remove_pod(PodUid("uid-30"));
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: a list decides what exists: observed, pending and unreadable pods that it does not contain
// are gone. Reservations stay, because the list may be older than they are.
TEST_F(State, RelistKeepsReservations) {
    const PodInfo seen = reserved(build::pod("seen", build::aliyun(4)));
    state_.set_pod(seen);
    const PodInfo kept = reserved(build::pod("kept", build::aliyun(2)));
    state_.set_pod(kept);
    const PodInfo uncertain = reserved(build::pod("doubt", build::aliyun(3)));
    state_.confirm({uncertain.uid, 1});
    const PodInfo fresh = reserved(build::pod("fresh", build::aliyun(1)));
    state_.set_pod(build::pod("waiting", build::aliyun(1)));
    ASSERT_EQ(allocated(), (Allocated{10, 0}));

    state_.keep_only_pods({kept.uid});
    EXPECT_EQ(allocated(), (Allocated{6, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
    EXPECT_EQ(stage(uncertain), Stage::bound);
    EXPECT_EQ(stage(fresh), Stage::assumed);
}

// Goal: a list of nodes removes nodes that it does not contain.
TEST_F(State, RelistOfNodes) {
    state_.set_node(build::node("n2", 1, gibibytes(16)));
    state_.keep_only_nodes({NodeName("n2")});
    EXPECT_EQ(state_.snapshot()->find("n1"), nullptr);
    ASSERT_NE(state_.snapshot()->find("n2"), nullptr);
    EXPECT_EQ(state_.snapshot()->nodes().size(), 1U);
}

// Goal: when a node goes and comes back, its pods have their GPUs again. While it is away it takes
// no pods, and pods that end meanwhile do not count later.
TEST_F(State, NodeGoesAndComesBack) {
    const PodInfo first = reserved(build::pod("first", build::aliyun(8)));
    state_.set_pod(first);
    const PodInfo second = reserved(build::pod("second", build::aliyun(4)));
    state_.set_pod(second);
    state_.remove_node(NodeName("n1"));
    EXPECT_EQ(state_.snapshot()->find("n1"), nullptr);
    const auto refused = reserve(build::pod("third", build::aliyun(1)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::not_found);

    state_.remove_pod(second.uid);
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    state_.remove_pod(first.uid);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    state_.remove_node(NodeName("unknown"));
}

// Goal: at the start pods may arrive before their node; they count when it arrives (D-19).
TEST_F(State, PodsBeforeTheirNode) {
    const PodInfo pod = build::pod("p", build::native(gibibytes(5)));
    const PodInfo bound = build::bound(
        pod, build::allocation(pod, "late", {{GpuUuid("GPU-late-0"), 0, gibibytes(5), {}, false}}));
    state_.set_pod(bound);
    EXPECT_EQ(state_.snapshot()->find("late"), nullptr);
    state_.set_node(build::node("late", 1, gibibytes(16)));
    EXPECT_EQ(allocated("late"), (Allocated{5}));
}

// Goal: when a GPU disappears, what pods have of it disappears, and it is back with the GPU.
TEST_F(State, GpuGoesAndComesBack) {
    const PodInfo bound = reserved(build::pod("p", build::aliyun(8)));
    state_.set_pod(bound);
    NodeInventory other = build::node("n1", 1, gibibytes(16));
    other.gpus[0].uuid = GpuUuid("GPU-new");
    state_.set_node(other);
    EXPECT_EQ(allocated(), (Allocated{0}));
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: health and size of GPUs follow the node's report at once (D-12, D-21).
TEST_F(State, NodeChangesTakeEffect) {
    NodeInventory sick = build::node("n1", 2, gibibytes(16));
    sick.gpus[0].condition = GpuCondition::unhealthy;
    sick.gpus[0].reason = "Xid 79";
    state_.set_node(sick);
    EXPECT_FALSE(state_.snapshot()->find("n1")->gpus[0].usable);
    EXPECT_EQ(
        reserved(build::pod("p", build::aliyun(1))).allocation->value().containers[0].gpus[0].index,
        1);
    state_.set_node(build::node("n1", 4, gibibytes(24)));
    EXPECT_EQ(allocated(), (Allocated{0, 1, 0, 0}));
    EXPECT_EQ(state_.snapshot()->find("n1")->gpus[3].capacity, gibibytes(24));
}

// Goal: an allocation of a newer version does not count as empty: nothing may be placed on the node
// until the pod is gone or readable.
TEST_F(State, NewerAllocationBlocksTheNode) {
    PodInfo newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    const auto said = blocked_for(*state_.snapshot()->find("n1"), Reader::of("default"));
    EXPECT_NE(said.find("default/newer"), std::string::npos);
    EXPECT_NE(said.find("version 9"), std::string::npos);
    const auto refused = reserve(build::pod("p", build::aliyun(1)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_EQ(refused.error().text, said);

    state_.remove_pod(newer.uid);
    EXPECT_EQ(blocked(), "");
    EXPECT_TRUE(reserve(build::pod("p", build::aliyun(1))));
}

// Goal: the block ends when the pod becomes readable, finishes, or is missing from a list.
TEST_F(State, BlockEnds) {
    PodInfo newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    state_.set_pod(build::bound(
        newer,
        build::allocation(newer, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    EXPECT_EQ(blocked(), "");
    EXPECT_EQ(allocated(), (Allocated{4, 0}));

    state_.remove_pod(newer.uid);
    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    PodInfo finished = newer;
    finished.finished = true;
    state_.set_pod(finished);
    EXPECT_EQ(blocked(), "");

    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    state_.keep_only_pods({});
    EXPECT_EQ(blocked(), "");
}

// Goal: the block stays while the node is away, whatever else ends on it meanwhile.
TEST_F(State, BlockOutlivesTheNodesAbsence) {
    PodInfo newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    const PodInfo other = build::pod("other", build::native(gibibytes(2)));
    state_.set_pod(build::bound(
        other,
        build::allocation(other, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(2), {}, false}})));
    state_.remove_node(NodeName("n1"));
    state_.remove_pod(other.uid);
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_NE(blocked(), "");
    state_.remove_pod(newer.uid);
    EXPECT_EQ(blocked(), "");
}

// Goal: an invalid allocation, or one for another pod or node, allocates nothing, because this
// controller did not write it for this pod. The agent refuses to start such a pod.
TEST_F(State, ForeignAllocationsHoldNothing) {
    const PodInfo pod = build::pod("p", build::aliyun(4));
    const std::vector<GpuShare> share = {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}};
    PodInfo copied = build::bound(pod, build::allocation(pod, "n1", share));
    copied.allocation->value().pod = PodUid("another-pod");
    state_.set_pod(copied);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));

    PodInfo moved = build::bound(pod, build::allocation(pod, "n1", share));
    moved.node = NodeName("n2");
    state_.set_pod(moved);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));

    PodInfo broken = pod;
    broken.node = NodeName("n1");
    broken.allocation = Result<Allocation>(fail(Code::invalid_argument, "not JSON"));
    state_.set_pod(broken);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    EXPECT_EQ(blocked(), "");
}

// Goal: a pod that another program bound without GPUs loses its reservation (D-17).
TEST_F(State, BoundBySomeoneElse) {
    PodInfo pod = build::pod("p", build::aliyun(4));
    reserved(pod);
    pod.node = NodeName("n2");
    state_.set_pod(pod);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
}

// Goal: pods that gpushare started keep their GPU when Tessera takes over the node: by index, and
// on the agent's UUIDs once they are known.
TEST_F(State, LegacyPodsAreMappedByIndex) {
    state_.set_node(build::legacy_node("old", 2, 16));
    PodInfo pod = build::legacy_bound(build::pod("p", build::aliyun(6)), "old", 1, 6);
    pod.started = true;
    state_.set_pod(pod);
    EXPECT_EQ(allocated("old"), (Allocated{0, 6}));
    EXPECT_EQ(stage(pod), Stage::observed);

    state_.set_node(build::node("old", 2, gibibytes(16)));
    EXPECT_EQ(allocated("old"), (Allocated{0, 6}));
    EXPECT_EQ(state_.snapshot()->find("old")->assigned_pods[0]->allocated[0].uuid,
              GpuUuid("GPU-old-1"));

    NodeInventory mib = build::node("old", 2, gibibytes(16));
    mib.unit = MemoryUnit::mib;
    state_.set_node(mib);
    EXPECT_EQ(state_.snapshot()->find("old")->gpus[1].allocated, mebibytes(6));
    state_.remove_pod(pod.uid);
    EXPECT_EQ(allocated("old"), (Allocated{0, 0}));
}

// Goal: a legacy pod before its node, on a GPU that the node does not have, or with an invalid
// annotation, does no harm.
TEST_F(State, LegacyPodsWithoutGpu) {
    state_.set_pod(build::legacy_bound(build::pod("early", build::aliyun(6)), "old", 1, 6));
    state_.set_pod(build::legacy_bound(build::pod("beyond", build::aliyun(5)), "old", 7, 5));
    state_.set_node(build::legacy_node("old", 2, 16));
    EXPECT_EQ(allocated("old"), (Allocated{0, 6}));
}

// Goal: annotations of a pod that requests no GPU are ignored: they allocate and block nothing.
TEST_F(State, AnnotationsWithoutARequest) {
    state_.set_node(build::legacy_node("old", 2, 16));
    state_.set_pod(build::legacy_bound(build::pod("unasked", {}), "old", 0, 3));
    EXPECT_EQ(allocated("old"), (Allocated{0, 0}));
    const PodInfo cpu = build::pod("cpu", {});
    state_.set_pod(build::bound(
        cpu, build::allocation(cpu, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    PodInfo newer = build::pod("newer", {});
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    EXPECT_EQ(blocked(), "");
}

// Goal: the first allocation of a pod counts until the pod ends, whatever its user writes into its
// annotations later. The caller is notified.
TEST_F(State, ChangedAnnotationsChangeNothing) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    const auto given = [&](int gib) {
        return build::bound(
            pod,
            build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(gib), {}, false}}));
    };
    EXPECT_TRUE(state_.set_pod(given(8)));
    EXPECT_TRUE(state_.set_pod(given(8)));
    EXPECT_FALSE(state_.set_pod(given(1)));
    PodInfo removed = given(8);
    removed.allocation.reset();
    EXPECT_FALSE(state_.set_pod(removed));
    removed.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    EXPECT_FALSE(state_.set_pod(removed));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(blocked(), "");
    removed.finished = true;
    EXPECT_TRUE(state_.set_pod(removed));
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: a pod counts as at most a whole GPU, so that no annotation makes sums overflow.
TEST_F(State, HugeHoldsAreAGpu) {
    for (int i = 0; i < 20; ++i) {
        const PodInfo pod = build::pod("p" + std::to_string(i), build::aliyun(8));
        state_.set_pod(build::bound(
            pod,
            build::allocation(pod, "n1",
                              {{GpuUuid("GPU-n1-0"), 0, {std::int64_t{1} << 62}, {100}, false}})));
    }
    EXPECT_EQ(allocated(), (Allocated{20 * 16, 0}));
    EXPECT_FALSE(reserve(build::pod("new", build::aliyun(17))));
}

// Goal: a pod that we placed by index while gpushare's plugin ran on the node keeps its GPU when
// our agent takes over the node.
TEST_F(State, OwnPodsOfALegacyNode) {
    state_.set_node(build::legacy_node("old", 2, 16));
    const PodInfo pod = build::pod("p", build::aliyun(8));
    ASSERT_TRUE(reserve(pod, "old"));
    EXPECT_EQ(allocated("old"), (Allocated{8, 0}));
    state_.set_node(build::node("old", 2, gibibytes(16)));
    EXPECT_EQ(allocated("old"), (Allocated{8, 0}));
}

// Goal: gpushare's plugin gives a container one GPU, so other requests are not placed on its nodes.
TEST_F(State, LegacyNodesTakeSingleShares) {
    state_.set_node(build::legacy_node("old", 2, 16));
    const auto two = reserve(build::pod("two", build::native(gibibytes(4), 2)), "old");
    ASSERT_FALSE(two);
    EXPECT_NE(two.error().text.find("gpushare's"), std::string::npos);
    EXPECT_FALSE(reserve(build::pod("both", {build::container("a", {{"aliyun.com/gpu-mem", "1"}}),
                                             build::container("b", {{"aliyun.com/gpu-mem", "1"}})}),
                         "old"));
    EXPECT_TRUE(reserve(build::pod("one", build::aliyun(4)), "old"));
}

// Goal: while an attempt is in progress, or an earlier one may still be written, the GPUs stay
// allocated, whatever the outcome of other attempts.
TEST_F(State, EachAttemptCounts) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    const auto first = reserve(pod);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->attempt, (Attempt{pod.uid, 1}));
    state_.confirm(first->attempt);  // its response was lost
    EXPECT_EQ(state_.unconfirmed().size(), 1U);
    const auto second = reserve(pod);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->allocation, first->allocation);
    EXPECT_EQ(second->attempt.number, 2);
    EXPECT_TRUE(state_.unconfirmed().empty()) << "the second is in progress";
    EXPECT_EQ(reserve(pod).error().code, Code::conflict);
    state_.release(first->attempt);
    EXPECT_EQ(allocated(), (Allocated{8, 0})) << "the attempt is not the last one";
    state_.refuse(second->attempt);
    EXPECT_EQ(allocated(), (Allocated{8, 0})) << "the first may still be written";
    EXPECT_EQ(state_.unconfirmed().size(), 1U);
    state_.release(second->attempt);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: an over-committed GPU (by an old scheduler, D-13) never looks free.
TEST_F(State, OvercommittedGpuHasNoRoom) {
    state_.set_node(build::legacy_node("old", 1, 16));
    for (int i = 0; i < 3; ++i) {
        state_.set_pod(build::legacy_bound(build::pod("p" + std::to_string(i), build::aliyun(10)),
                                           "old", 0, 10));
    }
    EXPECT_EQ(allocated("old"), (Allocated{30}));
    EXPECT_FALSE(reserve(build::pod("new", build::aliyun(1)), "old"));
}

// Goal: pods with an invalid request are pending with their error; pods without a GPU request are
// ignored.
TEST_F(State, PendingPods) {
    const PodInfo wrong =
        build::pod("wrong", {build::container("a", {{"aliyun.com/gpu-mem", "x"}})});
    state_.set_pod(wrong);
    ASSERT_NE(state_.pending(wrong.uid), nullptr);
    EXPECT_FALSE(state_.pending(wrong.uid)->request);
    state_.set_pod(build::pod("plain", {}));
    EXPECT_EQ(state_.pending(PodUid("uid-plain")), nullptr);
    EXPECT_EQ(state_.pending_count(), 1U);
    state_.remove_pod(wrong.uid);
    EXPECT_EQ(state_.pending_count(), 0U);
}

// Goal: snapshots never change, are shared while nothing happens, and share the nodes that did not
// change.
TEST_F(State, ViewsAreImmutableAndShared) {
    state_.set_node(build::node("n2", 1, gibibytes(16)));
    const auto before = state_.snapshot();
    EXPECT_EQ(state_.snapshot(), before);
    const PodInfo bound = reserved(build::pod("p", build::aliyun(8)));
    const auto after = state_.snapshot();
    EXPECT_EQ(before->find("n1")->gpus[0].allocated, Bytes{});
    EXPECT_EQ(after->find("n1")->gpus[0].allocated, gibibytes(8));
    EXPECT_EQ(before->find("n2"), after->find("n2"));
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(state_.snapshot(), after) << "the same report changes nothing";
}

// Goal: nodes are sorted by name and their pods by pod name, so that the output is stable.
TEST_F(State, ViewIsSorted) {
    state_.set_node(build::node("a", 1, gibibytes(16)));
    state_.set_node(build::node("z", 1, gibibytes(16)));
    for (const char* name : {"c", "a", "b"})
        state_.set_pod(reserved(build::pod(name, build::aliyun(1))));
    const auto snapshot = state_.snapshot();
    ASSERT_EQ(snapshot->nodes().size(), 3U);
    EXPECT_EQ(snapshot->nodes()[0]->inventory.name.str(), "a");
    EXPECT_EQ(snapshot->nodes()[2]->inventory.name.str(), "z");
    const auto& assigned_pods = snapshot->find("n1")->assigned_pods;
    ASSERT_EQ(assigned_pods.size(), 3U);
    EXPECT_EQ(assigned_pods[0]->name.name, "a");
    EXPECT_EQ(assigned_pods[2]->name.name, "c");
    EXPECT_EQ(Snapshot{}.find("a"), nullptr);
}

}  // namespace
}  // namespace tessera
