#include "domain/cluster/state.hpp"

#include <gtest/gtest.h>

#include "domain/placement/nominees.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class State : public ::testing::Test {
  protected:
    State() { state_.set_node(build::node("n1", 2, gibibytes(16))); }

    Result<Reservation> reserve(const PodFacts& pod, const std::string& node = "n1") {
        return state_.reserve(build::ask(pod), NodeName(node));
    }
    // Reserves, and returns the pod as the API server shows it once the Binding is written.
    PodFacts reserved(const PodFacts& pod, const std::string& node = "n1") {
        const auto reservation = reserve(pod, node);
        EXPECT_TRUE(reservation) << reservation.error().text;
        return build::bound(pod, reservation->allocation);
    }
    // Memory held on the cards of a node, in GiB; empty when the view has no such node.
    std::vector<std::int64_t> held(const std::string& node = "n1") {
        const auto view = state_.view();
        const NodeView* found = view->find(node);
        std::vector<std::int64_t> out;
        if (found == nullptr) return out;
        for (const Card& card : found->cards)
            out.push_back(card.held.count / kGiB);
        return out;
    }
    Stage stage(const PodFacts& pod) {
        const auto view = state_.view();
        for (const auto& node : view->nodes()) {
            for (const TenantPtr& tenant : node->tenants) {
                if (tenant->uid == pod.uid) return tenant->stage;
            }
        }
        ADD_FAILURE() << pod.name.str() << " holds nothing";
        return Stage::reserved;
    }
    std::string blocked(const std::string& node = "n1") {
        return state_.view()->find(node)->blocked;
    }

    using Held = std::vector<std::int64_t>;
    ClusterState state_;
};

// Goal: the whole life of a pod: pending, reserved, bound, seen, finished; memory is held from the
// reservation to the end and no longer.
TEST_F(State, LifeOfAPod) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    state_.set_pod(pod);
    ASSERT_NE(state_.pending(pod.uid), nullptr);
    EXPECT_EQ(state_.pending_count(), 1U);
    EXPECT_EQ(held(), (Held{0, 0}));

    const PodFacts bound = reserved(pod);
    EXPECT_EQ(stage(pod), Stage::reserved);
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(state_.pending(pod.uid), nullptr);
    EXPECT_TRUE(state_.unconfirmed().empty());

    state_.confirm({pod.uid, 1});
    EXPECT_EQ(stage(pod), Stage::bound);
    ASSERT_EQ(state_.unconfirmed().size(), 1U);

    state_.set_pod(bound);
    EXPECT_EQ(stage(pod), Stage::seen);
    EXPECT_TRUE(state_.unconfirmed().empty());
    EXPECT_EQ(held(), (Held{8, 0}));

    PodFacts finished = bound;
    finished.finished = true;
    state_.set_pod(finished);
    EXPECT_EQ(held(), (Held{0, 0}));
    state_.remove_pod(pod.uid);
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: the watch may be faster than the answer to the Binding: a late confirm or release changes
// nothing.
TEST_F(State, WatchOvertakesTheAnswer) {
    const PodFacts bound = reserved(build::pod("p", build::aliyun(8)));
    state_.set_pod(bound);
    state_.confirm({bound.uid, 1});
    EXPECT_EQ(stage(bound), Stage::seen);
    state_.release({bound.uid, 1});
    EXPECT_EQ(stage(bound), Stage::seen);
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: a refused Binding gives everything back, before and after the answer was in doubt.
TEST_F(State, ReleaseGivesBack) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    reserved(pod);
    state_.release({pod.uid, 1});
    EXPECT_EQ(held(), (Held{0, 0}));
    reserved(pod);
    state_.confirm({pod.uid, 1});
    state_.release({pod.uid, 1});
    EXPECT_EQ(held(), (Held{0, 0}));
    state_.release({pod.uid, 1});
    state_.confirm({PodUid("nobody"), 1});
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: a retry never counts twice (D-14). Method: reserve again in each stage, for the same node
// and for another.
TEST_F(State, ReserveAgain) {
    state_.set_node(build::node("n2", 2, gibibytes(16)));
    const PodFacts pod = build::pod("p", build::aliyun(8));
    const PodFacts bound = reserved(pod);
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
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(held("n2"), (Held{0, 0}));
}

// Goal: why a reservation is refused, by code and text.
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
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: a stale event of the unbound pod neither frees the reservation nor makes it pending again.
TEST_F(State, StaleEventOfAReservedPod) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    const PodFacts bound = reserved(pod);
    state_.set_pod(pod);
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
    state_.confirm({pod.uid, 1});
    state_.set_pod(pod);
    EXPECT_EQ(held(), (Held{8, 0}));
    state_.set_pod(bound);
    state_.set_pod(pod);
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: a pod that was asked to end holds its cards until it has (D-8).
TEST_F(State, TerminatingPodsHold) {
    PodFacts bound = reserved(build::pod("p", build::aliyun(16)));
    bound.terminating = true;
    state_.set_pod(bound);
    EXPECT_EQ(held(), (Held{16, 0}));
    bound.finished = true;
    state_.set_pod(bound);
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: pods force-deleted and made again under one name leak nothing (D-9). Method: thirty pods of
// one name, each with its own uid; the events of old and new arrive in one burst, deletion last.
TEST_F(State, NamesakesDoNotLeak) {
    for (int i = 0; i < 30; ++i) {
        PodFacts pod = build::pod("same-name", build::aliyun(8));
        pod.uid = PodUid("uid-" + std::to_string(i));
        const PodFacts old = build::bound(
            pod, {pod.uid,
                  NodeName("n1"),
                  DialectId::aliyun,
                  {{"main", {}, {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}}}});
        state_.set_pod(old);
        PodFacts next = old;
        next.uid = PodUid("uid-" + std::to_string(i + 1));
        next.allocation->value().pod = next.uid;
        state_.set_pod(next);
        EXPECT_EQ(held(), (Held{16, 0}));
        state_.remove_pod(old.uid);
        EXPECT_EQ(held(), (Held{8, 0}));
    }
    state_.remove_pod(PodUid("uid-30"));
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: a list rules what the API has: seen, pending and unreadable pods that it lacks are gone;
// reservations stay, for the list may be older than they are.
TEST_F(State, RelistKeepsReservations) {
    const PodFacts seen = reserved(build::pod("seen", build::aliyun(4)));
    state_.set_pod(seen);
    const PodFacts kept = reserved(build::pod("kept", build::aliyun(2)));
    state_.set_pod(kept);
    const PodFacts in_doubt = reserved(build::pod("doubt", build::aliyun(3)));
    state_.confirm({in_doubt.uid, 1});
    const PodFacts fresh = reserved(build::pod("fresh", build::aliyun(1)));
    state_.set_pod(build::pod("waiting", build::aliyun(1)));
    ASSERT_EQ(held(), (Held{10, 0}));

    state_.keep_only_pods({kept.uid});
    EXPECT_EQ(held(), (Held{6, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
    EXPECT_EQ(stage(in_doubt), Stage::bound);
    EXPECT_EQ(stage(fresh), Stage::reserved);
}

// Goal: a list of nodes removes those that it lacks.
TEST_F(State, RelistOfNodes) {
    state_.set_node(build::node("n2", 1, gibibytes(16)));
    state_.keep_only_nodes({NodeName("n2")});
    EXPECT_EQ(state_.view()->find("n1"), nullptr);
    ASSERT_NE(state_.view()->find("n2"), nullptr);
    EXPECT_EQ(state_.view()->nodes().size(), 1U);
}

// Goal: a node that goes and comes back finds its pods holding their cards; while it is away it
// takes nobody, and what ends meanwhile is not counted again.
TEST_F(State, NodeGoesAndComesBack) {
    const PodFacts first = reserved(build::pod("first", build::aliyun(8)));
    state_.set_pod(first);
    const PodFacts second = reserved(build::pod("second", build::aliyun(4)));
    state_.set_pod(second);
    state_.remove_node(NodeName("n1"));
    EXPECT_EQ(state_.view()->find("n1"), nullptr);
    const auto refused = reserve(build::pod("third", build::aliyun(1)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::not_found);

    state_.remove_pod(second.uid);
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(held(), (Held{8, 0}));
    state_.remove_pod(first.uid);
    EXPECT_EQ(held(), (Held{0, 0}));
    state_.remove_node(NodeName("nobody"));
}

// Goal: at the start pods may arrive before their node; they hold once it is there (D-19).
TEST_F(State, PodsBeforeTheirNode) {
    const PodFacts pod = build::pod("p", build::native(gibibytes(5)));
    const PodFacts bound = build::bound(
        pod, build::allocation(pod, "late", {{GpuUuid("GPU-late-0"), 0, gibibytes(5), {}, false}}));
    state_.set_pod(bound);
    EXPECT_EQ(state_.view()->find("late"), nullptr);
    state_.set_node(build::node("late", 1, gibibytes(16)));
    EXPECT_EQ(held("late"), (Held{5}));
}

// Goal: a card that is gone takes its holds along, and they are back with the card.
TEST_F(State, CardGoesAndComesBack) {
    const PodFacts bound = reserved(build::pod("p", build::aliyun(8)));
    state_.set_pod(bound);
    NodeInventory other = build::node("n1", 1, gibibytes(16));
    other.gpus[0].uuid = GpuUuid("GPU-new");
    state_.set_node(other);
    EXPECT_EQ(held(), (Held{0}));
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: health and size of cards follow the node's report at once (D-12, D-21).
TEST_F(State, NodeChangesTakeEffect) {
    NodeInventory sick = build::node("n1", 2, gibibytes(16));
    sick.gpus[0].condition = GpuCondition::unhealthy;
    sick.gpus[0].reason = "Xid 79";
    state_.set_node(sick);
    EXPECT_FALSE(state_.view()->find("n1")->cards[0].usable);
    EXPECT_EQ(
        reserved(build::pod("p", build::aliyun(1))).allocation->value().containers[0].gpus[0].index,
        1);
    state_.set_node(build::node("n1", 4, gibibytes(24)));
    EXPECT_EQ(held(), (Held{0, 1, 0, 0}));
    EXPECT_EQ(state_.view()->find("n1")->cards[3].capacity, gibibytes(24));
}

// Goal: an allocation of a newer version is not taken for an empty one: nothing may be placed on
// the node until the pod is gone or readable.
TEST_F(State, NewerAllocationBlocksTheNode) {
    PodFacts newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    const auto said = blocked_for(*state_.view()->find("n1"), Reader::of("default"));
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

// Goal: the block ends when the pod turns readable, finishes, or is missing from a list.
TEST_F(State, BlockEnds) {
    PodFacts newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    state_.set_pod(build::bound(
        newer,
        build::allocation(newer, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    EXPECT_EQ(blocked(), "");
    EXPECT_EQ(held(), (Held{4, 0}));

    state_.remove_pod(newer.uid);
    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    PodFacts finished = newer;
    finished.finished = true;
    state_.set_pod(finished);
    EXPECT_EQ(blocked(), "");

    state_.set_pod(newer);
    ASSERT_NE(blocked(), "");
    state_.keep_only_pods({});
    EXPECT_EQ(blocked(), "");
}

// Goal: the block outlives the node's absence, whatever else ends on it meanwhile.
TEST_F(State, BlockOutlivesTheNodesAbsence) {
    PodFacts newer = build::pod("newer", build::aliyun(4));
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    const PodFacts other = build::pod("other", build::native(gibibytes(2)));
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

// Goal: an allocation that is broken, or made for another pod or node, holds nothing: whoever wrote
// it, it was not us for this pod. The agent refuses to start such a pod.
TEST_F(State, ForeignAllocationsHoldNothing) {
    const PodFacts pod = build::pod("p", build::aliyun(4));
    const std::vector<GpuShare> share = {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}};
    PodFacts copied = build::bound(pod, build::allocation(pod, "n1", share));
    copied.allocation->value().pod = PodUid("somebody-else");
    state_.set_pod(copied);
    EXPECT_EQ(held(), (Held{0, 0}));

    PodFacts moved = build::bound(pod, build::allocation(pod, "n1", share));
    moved.node = NodeName("n2");
    state_.set_pod(moved);
    EXPECT_EQ(held(), (Held{0, 0}));

    PodFacts broken = pod;
    broken.node = NodeName("n1");
    broken.allocation = Result<Allocation>(fail(Code::invalid_argument, "not JSON"));
    state_.set_pod(broken);
    EXPECT_EQ(held(), (Held{0, 0}));
    EXPECT_EQ(blocked(), "");
}

// Goal: a pod that someone else bound, without cards, gives back what we had reserved for it
// (D-17).
TEST_F(State, BoundBySomeoneElse) {
    PodFacts pod = build::pod("p", build::aliyun(4));
    reserved(pod);
    pod.node = NodeName("n2");
    state_.set_pod(pod);
    EXPECT_EQ(held(), (Held{0, 0}));
    EXPECT_EQ(state_.pending_count(), 0U);
}

// Goal: pods that gpushare started keep their card when Tessera takes the node over: by index, and
// on the agent's UUIDs once they are known.
TEST_F(State, LegacyPodsAreMappedByIndex) {
    state_.set_node(build::legacy_node("old", 2, 16));
    PodFacts pod = build::legacy_bound(build::pod("p", build::aliyun(6)), "old", 1, 6);
    pod.started = true;
    state_.set_pod(pod);
    EXPECT_EQ(held("old"), (Held{0, 6}));
    EXPECT_EQ(stage(pod), Stage::seen);

    state_.set_node(build::node("old", 2, gibibytes(16)));
    EXPECT_EQ(held("old"), (Held{0, 6}));
    EXPECT_EQ(state_.view()->find("old")->tenants[0]->holds[0].uuid, GpuUuid("GPU-old-1"));

    NodeInventory mib = build::node("old", 2, gibibytes(16));
    mib.unit = MemoryUnit::mib;
    state_.set_node(mib);
    EXPECT_EQ(state_.view()->find("old")->cards[1].held, mebibytes(6));
    state_.remove_pod(pod.uid);
    EXPECT_EQ(held("old"), (Held{0, 0}));
}

// Goal: a legacy pod before its node, on a card that the node lacks, or with rubbish, is no harm.
TEST_F(State, LegacyPodsWithoutCard) {
    state_.set_pod(build::legacy_bound(build::pod("early", build::aliyun(6)), "old", 1, 6));
    state_.set_pod(build::legacy_bound(build::pod("beyond", build::aliyun(5)), "old", 7, 5));
    state_.set_node(build::legacy_node("old", 2, 16));
    EXPECT_EQ(held("old"), (Held{0, 6}));
}

// Goal: annotations of a pod that asks for no GPU are anybody's text: no hold, and no block.
TEST_F(State, AnnotationsWithoutARequest) {
    state_.set_node(build::legacy_node("old", 2, 16));
    state_.set_pod(build::legacy_bound(build::pod("unasked", {}), "old", 0, 3));
    EXPECT_EQ(held("old"), (Held{0, 0}));
    const PodFacts cpu = build::pod("cpu", {});
    state_.set_pod(build::bound(
        cpu, build::allocation(cpu, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    EXPECT_EQ(held(), (Held{0, 0}));
    PodFacts newer = build::pod("newer", {});
    newer.node = NodeName("n1");
    newer.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    state_.set_pod(newer);
    EXPECT_EQ(blocked(), "");
}

// Goal: what a pod was given counts until it ends, whatever its owner writes into its annotations
// afterwards; the caller hears of it.
TEST_F(State, ChangedAnnotationsChangeNothing) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    const auto given = [&](int gib) {
        return build::bound(
            pod,
            build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(gib), {}, false}}));
    };
    EXPECT_TRUE(state_.set_pod(given(8)));
    EXPECT_TRUE(state_.set_pod(given(8)));
    EXPECT_FALSE(state_.set_pod(given(1)));
    PodFacts removed = given(8);
    removed.allocation.reset();
    EXPECT_FALSE(state_.set_pod(removed));
    removed.allocation = Result<Allocation>(fail(Code::unsupported, "version 9 is newer than 1"));
    EXPECT_FALSE(state_.set_pod(removed));
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(blocked(), "");
    removed.finished = true;
    EXPECT_TRUE(state_.set_pod(removed));
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: a pod takes a card at most whole, so that no annotation makes sums overflow.
TEST_F(State, HugeHoldsAreACard) {
    for (int i = 0; i < 20; ++i) {
        const PodFacts pod = build::pod("p" + std::to_string(i), build::aliyun(8));
        state_.set_pod(build::bound(
            pod,
            build::allocation(pod, "n1",
                              {{GpuUuid("GPU-n1-0"), 0, {std::int64_t{1} << 62}, {100}, false}})));
    }
    EXPECT_EQ(held(), (Held{20 * 16, 0}));
    EXPECT_FALSE(reserve(build::pod("new", build::aliyun(17))));
}

// Goal: a pod that we placed while gpushare's plugin ran on the node, by index, keeps its card when
// our agent takes the node over.
TEST_F(State, OwnPodsOfALegacyNode) {
    state_.set_node(build::legacy_node("old", 2, 16));
    const PodFacts pod = build::pod("p", build::aliyun(8));
    ASSERT_TRUE(reserve(pod, "old"));
    EXPECT_EQ(held("old"), (Held{8, 0}));
    state_.set_node(build::node("old", 2, gibibytes(16)));
    EXPECT_EQ(held("old"), (Held{8, 0}));
}

// Goal: gpushare's plugin hands one card to one container: nothing else is placed where it runs.
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

// Goal: while an attempt is under way, or an earlier one may still land, the cards stay held,
// whatever is said of the other attempts.
TEST_F(State, EachAttemptCounts) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    const auto first = reserve(pod);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->attempt, (Attempt{pod.uid, 1}));
    state_.confirm(first->attempt);  // its answer was lost
    EXPECT_EQ(state_.unconfirmed().size(), 1U);
    const auto second = reserve(pod);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->allocation, first->allocation);
    EXPECT_EQ(second->attempt.number, 2);
    EXPECT_TRUE(state_.unconfirmed().empty()) << "the second is under way";
    EXPECT_EQ(reserve(pod).error().code, Code::conflict);
    state_.release(first->attempt);
    EXPECT_EQ(held(), (Held{8, 0})) << "said of an attempt that is not the last";
    state_.refuse(second->attempt);
    EXPECT_EQ(held(), (Held{8, 0})) << "the first may still land";
    EXPECT_EQ(state_.unconfirmed().size(), 1U);
    state_.release(second->attempt);
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: more held than there is (an old scheduler's work, D-13) never looks like room.
TEST_F(State, OvercommittedCardHasNoRoom) {
    state_.set_node(build::legacy_node("old", 1, 16));
    for (int i = 0; i < 3; ++i) {
        state_.set_pod(build::legacy_bound(build::pod("p" + std::to_string(i), build::aliyun(10)),
                                           "old", 0, 10));
    }
    EXPECT_EQ(held("old"), (Held{30}));
    EXPECT_FALSE(reserve(build::pod("new", build::aliyun(1)), "old"));
}

// Goal: pods that ask for something wrong wait with their error; pods that ask for nothing are
// none of our business.
TEST_F(State, PendingPods) {
    const PodFacts wrong =
        build::pod("wrong", {build::container("a", {{"aliyun.com/gpu-mem", "x"}})});
    state_.set_pod(wrong);
    ASSERT_NE(state_.pending(wrong.uid), nullptr);
    EXPECT_FALSE(state_.pending(wrong.uid)->ask);
    state_.set_pod(build::pod("plain", {}));
    EXPECT_EQ(state_.pending(PodUid("uid-plain")), nullptr);
    EXPECT_EQ(state_.pending_count(), 1U);
    state_.remove_pod(wrong.uid);
    EXPECT_EQ(state_.pending_count(), 0U);
}

// Goal: views never change, are shared while nothing happens, and share the nodes that did not
// change.
TEST_F(State, ViewsAreImmutableAndShared) {
    state_.set_node(build::node("n2", 1, gibibytes(16)));
    const auto before = state_.view();
    EXPECT_EQ(state_.view(), before);
    const PodFacts bound = reserved(build::pod("p", build::aliyun(8)));
    const auto after = state_.view();
    EXPECT_EQ(before->find("n1")->cards[0].held, Bytes{});
    EXPECT_EQ(after->find("n1")->cards[0].held, gibibytes(8));
    EXPECT_EQ(before->find("n2"), after->find("n2"));
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    EXPECT_EQ(state_.view(), after) << "the same report changes nothing";
}

// Goal: nodes come by name, tenants by pod name: what people see is stable.
TEST_F(State, ViewIsSorted) {
    state_.set_node(build::node("a", 1, gibibytes(16)));
    state_.set_node(build::node("z", 1, gibibytes(16)));
    for (const char* name : {"c", "a", "b"})
        state_.set_pod(reserved(build::pod(name, build::aliyun(1))));
    const auto view = state_.view();
    ASSERT_EQ(view->nodes().size(), 3U);
    EXPECT_EQ(view->nodes()[0]->inventory.name.str(), "a");
    EXPECT_EQ(view->nodes()[2]->inventory.name.str(), "z");
    const auto& tenants = view->find("n1")->tenants;
    ASSERT_EQ(tenants.size(), 3U);
    EXPECT_EQ(tenants[0]->name.name, "a");
    EXPECT_EQ(tenants[2]->name.name, "c");
    EXPECT_EQ(ClusterView{}.find("a"), nullptr);
}

}  // namespace
}  // namespace tessera
