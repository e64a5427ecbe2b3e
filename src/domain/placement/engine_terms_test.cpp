#include "domain/placement/engine_terms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr Bytes kCard = gibibytes(16);

// Goal: what is asked is rounded up, what is free down, and the scarcer of memory and compute
// counts.
TEST(EngineTerms, OfSharesAndCards) {
    EXPECT_EQ(milli_of(gibibytes(4), {0}, kCard), 250);
    EXPECT_EQ(milli_of({1}, {0}, kCard), 1);
    EXPECT_EQ(milli_of(gibibytes(4), {60}, kCard), 600);
    EXPECT_EQ(milli_of(kCard, {0}, kCard), 1'000);
    EXPECT_EQ(milli_of(kCard + gibibytes(1), {0}, kCard), 1'000);
    EXPECT_EQ(free_milli({.capacity = kCard}), 1'000);
    EXPECT_EQ(free_milli({.capacity = kCard, .held = gibibytes(4), .holders = 1}), 750);
    EXPECT_EQ(free_milli({.capacity = kCard, .held = {1}, .holders = 1}), 999);
    EXPECT_EQ(free_milli({.capacity = kCard, .cores_held = {70}, .holders = 1}), 300);
    EXPECT_EQ(free_milli({.capacity = kCard, .holders = 1}), 999) << "held, if only in name";
    EXPECT_EQ(free_milli({.capacity = kCard, .usable = false}), 0);
    EXPECT_EQ(free_milli({}), 0);
}

// Goal: what fits in thousandths fits in bytes, for any sizes.
RC_GTEST_PROP(EngineTerms, FitInBytes, ()) {
    const auto capacity = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
    const auto held = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
    const auto ask = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
    const Card card{.capacity = {capacity}, .held = {held}, .holders = held > 0 ? 1 : 0};
    if (milli_of({ask}, {0}, {capacity}) <= free_milli(card)) RC_ASSERT(ask <= capacity - held);
}

// Goal: a task per container, what the pod takes of the host in the first; no terms for a share
// larger than the card, nor for containers that do not run side by side.
TEST(EngineTerms, OfPods) {
    PodFacts pod = build::pod("p", build::native(gibibytes(4), 2));
    pod.containers.push_back(build::container("other", {{"tessera.dev/gpu", "1"}}));
    pod.host = {1'500, mebibytes(100)};
    const auto tasks = tasks_of(build::ask(pod), MemoryUnit::gib, kCard);
    ASSERT_TRUE(tasks);
    EXPECT_EQ(*tasks,
              (std::vector<Task>{{.cpu_milli = 1'500, .memory_mib = 100, .milli = 250, .count = 2},
                                 {.milli = 1'000, .count = 1}}));
    EXPECT_FALSE(tasks_of(build::ask(pod), MemoryUnit::gib, gibibytes(3)));
    pod.containers[0].kind = ContainerKind::init;
    EXPECT_FALSE(tasks_of(build::ask(pod), MemoryUnit::gib, kCard));
}

// Goal: a node's CPU is what is left of it by all its pods, those without GPUs too, from the moment
// on in which a pod is promised to it; its kinds are those of its tenants.
TEST(EngineTerms, LoadOfANode) {
    ClusterState state;
    NodeInventory node = build::node("n", 2, kCard);
    node.host = {8'000, gibibytes(32)};
    state.set_node(node);
    const auto load = [&] { return state.view()->find("n")->load; };
    EXPECT_EQ(
        load(),
        (NodeLoad{.cpu_milli = 8'000, .memory_mib = 32'768, .milli = {1'000, 1'000}, .cards = 2}));
    PodFacts other = build::pod("web", {});
    other.node = NodeName("n");
    other.host = {1'000, gibibytes(1)};
    state.set_pod(other);
    EXPECT_EQ(load().cpu_milli, 7'000);
    PodFacts pod = build::pod("p", build::native(gibibytes(4)));
    pod.host = {500, gibibytes(2)};
    const auto made = state.reserve(build::ask(pod), node.name);
    ASSERT_TRUE(made);
    EXPECT_EQ(load(), (NodeLoad{.cpu_milli = 6'500,
                                .memory_mib = 29'696,
                                .milli = {750, 1'000},
                                .cards = 2,
                                .kinds = 1}));
    state.refuse(made->attempt);
    EXPECT_EQ(load().cpu_milli, 7'000);
    state.keep_only_pods({});
    EXPECT_EQ(load().cpu_milli, 8'000);
}

// Goal: each pod that asks for GPUs arrives once, whether it is first seen waiting or on its node;
// what pods are given and give back is counted.
TEST(EngineTerms, Arrivals) {
    ClusterState state;
    state.set_node(build::node("n", 1, kCard));
    PodFacts waits = build::pod("waits", build::native(gibibytes(4)));
    waits.created = "2026-11-23T10:00:00Z";
    state.set_pod(waits);
    state.set_pod(waits);
    const auto made = state.reserve(build::ask(waits), NodeName("n"));
    ASSERT_TRUE(made);
    state.set_pod(build::bound(waits, made->allocation));
    const PodFacts runs = build::pod("runs", build::native(gibibytes(8)));
    state.set_pod(build::bound(
        runs, build::allocation(runs, "n", {{GpuUuid("GPU-n-0"), 0, gibibytes(8), {}, false}})));
    state.set_pod(build::pod("web", {}));
    state.remove_pod(waits.uid);
    const Arrivals arrivals = state.take_arrivals();
    ASSERT_EQ(arrivals.pods.size(), 2U);
    EXPECT_EQ(arrivals.pods[0].pod, build::ask(waits));
    EXPECT_EQ(arrivals.pods[0].created, waits.created);
    EXPECT_EQ(arrivals.pods[1].pod, build::ask(runs));
    EXPECT_EQ(arrivals.placed_milli, 750);
    EXPECT_EQ(arrivals.released_milli, 250);
    EXPECT_TRUE(state.take_arrivals().pods.empty());
    EXPECT_EQ(state.take_arrivals().placed_milli, 750);
}

}  // namespace
}  // namespace tessera
