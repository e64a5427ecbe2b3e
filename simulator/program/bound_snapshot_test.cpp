// The bound of a snapshot, with the program's own solver, compared with all ways to place its pods.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "simulator/bound/bounds.hpp"
#include "simulator/bound/live_bound.hpp"
#include "simulator/live/dump_builders_test.hpp"
#include "simulator/live/dump_exhaustive_test.hpp"
#include "simulator/solver/clp.hpp"

namespace tessera {
namespace {

constexpr double kRounding = 1e-6;

BoundRun bound_of(const ClusterDump& dump, std::vector<std::string> policies = {}) {
    const auto cluster = live_cluster(dump);
    EXPECT_TRUE(cluster) << cluster.error().text;
    auto subject = live_bound(dump, *cluster);
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

// Goal: the bound of clusters for which it is known.
TEST(BoundSnapshot, IsKnown) {
    ClusterDump dump{.nodes = {build::node("m", {{"A100", 80}}), build::node("n", {{"T4", 16}})},
                     .pods = {build::pod("a", 40), build::pod("b", 40), build::pod("c", 40)}};
    EXPECT_NEAR(bound_of(dump).bound, 50, kRounding) << "none fits the T4";
    dump.pods.push_back(build::pod("d", 16));
    EXPECT_NEAR(bound_of(dump).bound, 100, kRounding);
    dump.pods = {build::pod("a", 8), build::pod("b", 8, 1, {.models = "A100"})};
    EXPECT_NEAR(bound_of(dump).bound, (500 + 100) / 20.0, kRounding);
    dump.pods = {build::pod("a", 8, 1, {.uuids = "m-0"}),
                 build::pod("b", 0, 1, {.models = "H100"})};
    EXPECT_NEAR(bound_of(dump).bound, 100 / 20.0, kRounding);
    dump.nodes = {build::node("m", {{"A100", 80}, {"T4", 16}})};
    dump.pods = {build::pod("a", 40), build::pod("b", 40), build::pod("c", 40)};
    EXPECT_NEAR(bound_of(dump).bound, 50, kRounding);
    dump.pods = {build::pod("a", 0, 2)};
    EXPECT_NEAR(bound_of(dump).bound, 100, kRounding);
    EXPECT_NEAR(*bound_of(dump).all_placed, 100, kRounding);
}

// Goal: on a few GPUs the bound is as tight as on many, because the linear program is solved to
// optimality.
TEST(BoundSnapshot, IsTightOnFewGpus) {
    ClusterDump dump{.nodes = {build::node("m", {{"T4", 100}, {"T4", 100}})},
                     .pods = {build::pod("a", 70), build::pod("b", 35), build::pod("c", 51),
                              build::pod("d", 60)}};
    EXPECT_NEAR(bound_of(dump).bound, 82.5, kRounding);
    dump.nodes = {build::node("m", {{"T4", 100}}), build::node("n", {{"T4", 100}})};
    EXPECT_NEAR(bound_of(dump).bound, 82.5, kRounding);
}

// Goal: only rules that pods have are listed as left out.
TEST(BoundSnapshot, TellsWhichRulesItLeavesOut) {
    const auto left_out = [](std::vector<DumpPod> pods) {
        const ClusterDump dump{.nodes = {build::node("m", {{"A100", 80}, {"A100", 80}})},
                               .pods = std::move(pods)};
        const auto cluster = live_cluster(dump);
        EXPECT_TRUE(cluster) << cluster.error().text;
        return cluster ? rules_left_out(*cluster) : "";
    };
    const auto pod = [](const char* name, GpuRuleTexts rules) {
        return build::pod(name, 8, 1, std::move(rules));
    };
    EXPECT_EQ(left_out({pod("a", {.models = "A100"})}), "");
    EXPECT_EQ(
        left_out({pod("a", {.anti_affinity = "g"}), pod("b", {.affinity = "h"})}),
        "rules that the bound does not apply in full: gpu-anti-affinity and gpu-affinity of 2 pods "
        "(ignored)");
    EXPECT_EQ(
        left_out({pod("a", {.uuids = "m-0"}), pod("b", {.uuids = "!m-0", .anti_affinity = "g"}),
                  pod("c", {.models = "A100"})}),
        "rules that the bound does not apply in full: gpu-uuids of 2 pods (only the kind of GPU "
        "counts), gpu-anti-affinity and gpu-affinity of 1 pod (ignored)");
    EXPECT_EQ(
        left_out({build::pod("a", 8, 2, {.topology = "nvlink"}), pod("b", {.topology = "pcie"})}),
        "rules that the bound does not apply in full: gpu-topology of 1 pod (ignored)");
}

ClusterDump tiny_dump() {
    ClusterDump dump;
    const bool is_mixed = *rc::gen::arbitrary<bool>();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        DumpNode any = build::node("n" + std::to_string(i), {});
        any.host.cpu_milli = *rc::gen::inRange(1, 9) * 1'000;
        const std::string model = *rc::gen::element("A", "B");
        const int gib = *rc::gen::element(10, 16);
        for (int gpu = *rc::gen::inRange(1, 4); gpu > 0; --gpu) {
            any.gpus.push_back({.model = is_mixed ? *rc::gen::element("A", "B") : model,
                                .memory = gibibytes(is_mixed ? *rc::gen::element(10, 16) : gib),
                                .healthy = *rc::gen::inRange(0, 6) > 0,
                                .uuid = GpuUuid(any.name + "-" + std::to_string(gpu))});
        }
        dump.nodes.push_back(std::move(any));
    }
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        DumpPod any = build::pod("p" + std::to_string(i), *rc::gen::element(0, 2, 4, 5, 7, 12),
                                 *rc::gen::element(1, 1, 2),
                                 {.models = *rc::gen::element("", "", "A", "!A"),
                                  .uuids = *rc::gen::element("", "", "n1-1", "!n1-1"),
                                  .anti_affinity = *rc::gen::element("", "", "g"),
                                  .affinity = *rc::gen::element("", "", "g")});
        any.requests[0].cores = {*rc::gen::element(0, 0, 35, 60)};
        any.host.cpu_milli = *rc::gen::inRange(0, 4) * 700;
        if (*rc::gen::inRange(0, 6) == 0) any.requests.push_back(any.requests[0]);
        dump.pods.push_back(std::move(any));
    }
    return dump;
}

// Goal: on tiny clusters, whose GPUs differ by node or within one, no placement allocates more than
// the bound. No policy's replay allocates more than the best placement. If all pods can be placed,
// the bound does not say that some must be dropped.
RC_GTEST_PROP(BoundSnapshot, BoundsWhatCanBePlaced, ()) {
    const ClusterDump dump = tiny_dump();
    const auto in_order = std::ranges::any_of(dump.nodes, [](const DumpNode& node) {
        return std::ranges::any_of(node.gpus, &DumpGpu::healthy);
    });
    if (!in_order) RC_DISCARD("no GPU is in order");
    std::vector<std::string> policies;
    for (const PlacementPolicyRow& row : placement_policies())
        policies.emplace_back(row.name);
    const DumpExhaustive best(dump);
    const BoundRun run = bound_of(dump, policies);
    int gpus = 0;
    for (const DumpNode& node : dump.nodes)
        gpus += static_cast<int>(std::ranges::count(node.gpus, true, &DumpGpu::healthy));
    const double most = best.most_milli() / 10.0 / gpus;
    RC_ASSERT(run.bound >= most - kRounding);
    RC_ASSERT(run.bound <= 100 + kRounding);
    for (const PolicyAllocation& policy : run.policies)
        RC_ASSERT(policy.percent <= most + kRounding);
    if (best.can_place_all()) RC_ASSERT(*run.all_placed >= run.asked - kRounding);
}

}  // namespace
}  // namespace tessera
