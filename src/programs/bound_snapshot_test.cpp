// The bound of a snapshot, with the solver that the program has, against all ways to place its
// pods.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "adapters/lp/clp.hpp"
#include "app/sim/bounds.hpp"
#include "app/sim/live_bound.hpp"
#include "app/sim/snapshot_builders_test.hpp"
#include "app/sim/snapshot_exhaustive_test.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-6;

BoundRun bound_of(const ClusterSnapshot& snapshot, std::vector<std::string> policies = {}) {
    const auto cluster = live_cluster(snapshot);
    EXPECT_TRUE(cluster) << cluster.error().text;
    auto subject = live_bound(snapshot, *cluster);
    EXPECT_TRUE(subject) << subject.error().text;
    const BoundOptions options{.subject = *std::move(subject),
                               .arrivals = {kAllArrivals},
                               .policies = std::move(policies),
                               .all_placed = true};
    const auto read_nothing = [](const std::string& path) -> Result<std::string> {
        return fail(Code::not_found, path);
    };
    const auto clp = [](std::span<const LpRow> rows) { return make_clp(rows); };
    const auto runs = find_bounds(options, read_nothing, clp, [](std::size_t, std::size_t) {});
    EXPECT_TRUE(runs) << runs.error().text;
    return runs->front();
}

// Goal: clusters whose bound is known.
TEST(BoundSnapshot, IsKnown) {
    ClusterSnapshot snapshot{
        .nodes = {build::node("m", {{"A100", 80}}), build::node("n", {{"T4", 16}})},
        .pods = {build::pod("a", 40), build::pod("b", 40), build::pod("c", 40)}};
    EXPECT_NEAR(bound_of(snapshot).bound, 50, kRounding) << "none fits the T4";
    snapshot.pods.push_back(build::pod("d", 16));
    EXPECT_NEAR(bound_of(snapshot).bound, 100, kRounding);
    snapshot.pods = {build::pod("a", 8), build::pod("b", 8, 1, {.models = "A100"})};
    EXPECT_NEAR(bound_of(snapshot).bound, (500 + 100) / 20.0, kRounding);
    snapshot.pods = {build::pod("a", 8, 1, {.uuids = "m-0"}),
                     build::pod("b", 0, 1, {.models = "H100"})};
    EXPECT_NEAR(bound_of(snapshot).bound, 100 / 20.0, kRounding);
    snapshot.nodes = {build::node("m", {{"A100", 80}, {"T4", 16}})};
    snapshot.pods = {build::pod("a", 40), build::pod("b", 40), build::pod("c", 40)};
    EXPECT_NEAR(bound_of(snapshot).bound, 50, kRounding);
    snapshot.pods = {build::pod("a", 0, 2)};
    EXPECT_NEAR(bound_of(snapshot).bound, 100, kRounding);
    EXPECT_NEAR(*bound_of(snapshot).all_placed, 100, kRounding);
}

// Goal: on a few cards the bound is as tight as on many: the linear program is solved to the end.
TEST(BoundSnapshot, IsTightOnFewCards) {
    ClusterSnapshot snapshot{.nodes = {build::node("m", {{"T4", 100}, {"T4", 100}})},
                             .pods = {build::pod("a", 70), build::pod("b", 35), build::pod("c", 51),
                                      build::pod("d", 60)}};
    EXPECT_NEAR(bound_of(snapshot).bound, 82.5, kRounding);
    snapshot.nodes = {build::node("m", {{"T4", 100}}), build::node("n", {{"T4", 100}})};
    EXPECT_NEAR(bound_of(snapshot).bound, 82.5, kRounding);
}

// Goal: only the rules that pods have are told as left out.
TEST(BoundSnapshot, TellsWhichRulesItLeavesOut) {
    const auto told = [](std::vector<SnapshotPod> pods) {
        const ClusterSnapshot snapshot{.nodes = {build::node("m", {{"A100", 80}, {"A100", 80}})},
                                       .pods = std::move(pods)};
        const auto cluster = live_cluster(snapshot);
        EXPECT_TRUE(cluster) << cluster.error().text;
        return cluster ? rules_left_out(*cluster) : "";
    };
    const auto pod = [](const char* name, CardRuleTexts rules) {
        return build::pod(name, 8, 1, std::move(rules));
    };
    EXPECT_EQ(told({pod("a", {.models = "A100"})}), "");
    EXPECT_EQ(told({pod("a", {.apart = "g"}), pod("b", {.together = "h"})}),
              "the bound looks at gpu-apart and gpu-together of 2 pods not at all");
    EXPECT_EQ(told({pod("a", {.uuids = "m-0"}), pod("b", {.uuids = "!m-0", .apart = "g"}),
                    pod("c", {.models = "A100"})}),
              "the bound looks at gpu-uuids of 2 pods for the kind of card alone, and at gpu-apart "
              "and gpu-together of 1 pod not at all");
    EXPECT_EQ(told({build::pod("a", 8, 2, {.links = "nvlink"}), pod("b", {.links = "pcie"})}),
              "the bound looks at gpu-links of 1 pod not at all");
}

ClusterSnapshot tiny_snapshot() {
    ClusterSnapshot snapshot;
    const bool is_mixed = *rc::gen::arbitrary<bool>();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        SnapshotNode any = build::node("n" + std::to_string(i), {});
        any.host.cpu_milli = *rc::gen::inRange(1, 9) * 1'000;
        const std::string model = *rc::gen::element("A", "B");
        const int gib = *rc::gen::element(10, 16);
        for (int card = *rc::gen::inRange(1, 4); card > 0; --card) {
            any.cards.push_back({.model = is_mixed ? *rc::gen::element("A", "B") : model,
                                 .memory = gibibytes(is_mixed ? *rc::gen::element(10, 16) : gib),
                                 .healthy = *rc::gen::inRange(0, 6) > 0,
                                 .uuid = GpuUuid(any.name + "-" + std::to_string(card))});
        }
        snapshot.nodes.push_back(std::move(any));
    }
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        SnapshotPod any = build::pod("p" + std::to_string(i), *rc::gen::element(0, 2, 4, 5, 7, 12),
                                     *rc::gen::element(1, 1, 2),
                                     {.models = *rc::gen::element("", "", "A", "!A"),
                                      .uuids = *rc::gen::element("", "", "n1-1", "!n1-1"),
                                      .apart = *rc::gen::element("", "", "g"),
                                      .together = *rc::gen::element("", "", "g")});
        any.asks[0].cores = {*rc::gen::element(0, 0, 35, 60)};
        any.host.cpu_milli = *rc::gen::inRange(0, 4) * 700;
        if (*rc::gen::inRange(0, 6) == 0) any.asks.push_back(any.asks[0]);
        snapshot.pods.push_back(std::move(any));
    }
    return snapshot;
}

// Goal: on tiny clusters, whose cards differ by node or within one, no placement holds more than
// the bound, and no policy's replay more than the best placement; nor is dropping said to be needed
// where all pods can be placed.
RC_GTEST_PROP(BoundSnapshot, BoundsWhatCanBePlaced, ()) {
    const ClusterSnapshot snapshot = tiny_snapshot();
    const auto in_order = std::ranges::any_of(snapshot.nodes, [](const SnapshotNode& node) {
        return std::ranges::any_of(node.cards, &SnapshotCard::healthy);
    });
    if (!in_order) RC_DISCARD("no card is in order");
    std::vector<std::string> policies;
    for (const FleetPolicyRow& row : fleet_policies())
        policies.emplace_back(row.name);
    const SnapshotExhaustive best(snapshot);
    const BoundRun run = bound_of(snapshot, policies);
    int cards = 0;
    for (const SnapshotNode& node : snapshot.nodes)
        cards += static_cast<int>(std::ranges::count(node.cards, true, &SnapshotCard::healthy));
    const double most = best.most_milli() / 10.0 / cards;
    RC_ASSERT(run.bound >= most - kRounding);
    RC_ASSERT(run.bound <= 100 + kRounding);
    for (const PolicyHeld& policy : run.policies)
        RC_ASSERT(policy.percent <= most + kRounding);
    if (best.can_place_all()) RC_ASSERT(*run.all_placed >= run.asked - kRounding);
}

}  // namespace
}  // namespace tessera
