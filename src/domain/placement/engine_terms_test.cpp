#include "domain/placement/engine_terms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr Bytes kGpu = gibibytes(16);

// Goal: requests are rounded up, free amounts down, and the scarcer of memory and compute counts.
TEST(EngineTerms, OfSharesAndGpus) {
    EXPECT_EQ(milli_of(gibibytes(4), {0}, kGpu), 250);
    EXPECT_EQ(milli_of({1}, {0}, kGpu), 1);
    EXPECT_EQ(milli_of(gibibytes(4), {60}, kGpu), 600);
    EXPECT_EQ(milli_of(kGpu, {0}, kGpu), 1'000);
    EXPECT_EQ(milli_of(kGpu + gibibytes(1), {0}, kGpu), 1'000);
    EXPECT_EQ(free_milli({.capacity = kGpu}), 1'000);
    EXPECT_EQ(free_milli({.capacity = kGpu, .allocated = gibibytes(4), .pods = 1}), 750);
    EXPECT_EQ(free_milli({.capacity = kGpu, .allocated = {1}, .pods = 1}), 999);
    EXPECT_EQ(free_milli({.capacity = kGpu, .allocated_cores = {70}, .pods = 1}), 300);
    EXPECT_EQ(free_milli({.capacity = kGpu, .pods = 1}), 999) << "a pod is on it";
    EXPECT_EQ(free_milli({.capacity = kGpu, .usable = false}), 0);
    EXPECT_EQ(free_milli({}), 0);
}

// Goal: what fits in thousandths fits in bytes, for any sizes.
RC_GTEST_PROP(EngineTerms, FitInBytes, ()) {
    const auto capacity = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
    const auto allocated = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
    const auto request = *rc::gen::inRange<std::int64_t>(0, capacity + 1);
    const GpuState gpu{
        .capacity = {capacity}, .allocated = {allocated}, .pods = allocated > 0 ? 1 : 0};
    if (milli_of({request}, {0}, {capacity}) <= free_milli(gpu))
        RC_ASSERT(request <= capacity - allocated);
}

// Goal: one task per container, with the pod's CPU and memory in the first. Nothing for a share
// larger than the GPU, nor for init containers.
TEST(EngineTerms, OfPods) {
    std::vector<ContainerSpec> containers = build::native(gibibytes(4), 2);
    containers.push_back(build::container("other", {{"tessera.dev/gpu", "1"}}));
    PodInfo pod = build::pod("p", containers);
    pod.host = {1'500, mebibytes(100)};
    const auto tasks = tasks_of(build::request(pod), MemoryUnit::gib, kGpu);
    ASSERT_TRUE(tasks);
    EXPECT_EQ(*tasks, (std::vector<PlacementTask>{
                          {.cpu_milli = 1'500, .memory_mib = 100, .milli = 250, .count = 2},
                          {.milli = 1'000, .count = 1}}));
    EXPECT_FALSE(tasks_of(build::request(pod), MemoryUnit::gib, gibibytes(3)));
    containers[0].kind = ContainerKind::init;
    build::set_containers(pod, containers);
    EXPECT_FALSE(tasks_of(build::request(pod), MemoryUnit::gib, kGpu));
}

// Goal: a node's CPU is what all its pods leave, pods without GPUs included, from the reservation
// on. Its kinds are those of its pods.
TEST(EngineTerms, LoadOfANode) {
    ClusterState state;
    NodeInventory node = build::node("n", 2, kGpu);
    node.host = {8'000, gibibytes(32)};
    state.set_node(node);
    const auto load = [&] { return state.snapshot()->find("n")->load; };
    EXPECT_EQ(
        load(),
        (NodeLoad{.cpu_milli = 8'000, .memory_mib = 32'768, .milli = {1'000, 1'000}, .gpus = 2}));
    PodInfo other = build::pod("web", {});
    other.node = NodeName("n");
    other.host = {1'000, gibibytes(1)};
    state.set_pod(other);
    EXPECT_EQ(load().cpu_milli, 7'000);
    PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    pod.host = {500, gibibytes(2)};
    const auto made = state.reserve(build::request(pod), node.name);
    ASSERT_TRUE(made);
    EXPECT_EQ(load(), (NodeLoad{.cpu_milli = 6'500,
                                .memory_mib = 29'696,
                                .milli = {750, 1'000},
                                .gpus = 2,
                                .kinds = 1}));
    state.refuse(made->attempt);
    EXPECT_EQ(load().cpu_milli, 7'000);
    state.keep_only_pods({});
    EXPECT_EQ(load().cpu_milli, 8'000);
}

// Goal: each pod that requests GPUs arrives once, whether it is first seen pending or on its node.
// What pods receive and release is counted.
TEST(EngineTerms, Arrivals) {
    ClusterState state;
    state.set_node(build::node("n", 1, kGpu));
    PodInfo waits = build::pod("waits", build::native(gibibytes(4)));
    waits.created = "2026-11-23T10:00:00Z";
    state.set_pod(waits);
    state.set_pod(waits);
    const auto made = state.reserve(build::request(waits), NodeName("n"));
    ASSERT_TRUE(made);
    state.set_pod(build::bound(waits, made->allocation));
    const PodInfo runs = build::pod("runs", build::native(gibibytes(8)));
    state.set_pod(build::bound(
        runs, build::allocation(runs, "n", {{GpuUuid("GPU-n-0"), 0, gibibytes(8), {}, false}})));
    state.set_pod(build::pod("web", {}));
    state.remove_pod(waits.uid);
    const Arrivals arrivals = state.take_arrivals();
    ASSERT_EQ(arrivals.pods.size(), 2U);
    EXPECT_EQ(arrivals.pods[0].pod, build::request(waits));
    EXPECT_EQ(arrivals.pods[0].created, waits.created);
    EXPECT_EQ(arrivals.pods[1].pod, build::request(runs));
    EXPECT_EQ(arrivals.allocated_milli, 750);
    EXPECT_EQ(arrivals.released_milli, 250);
    EXPECT_TRUE(state.take_arrivals().pods.empty());
    EXPECT_EQ(state.take_arrivals().allocated_milli, 750);
}

}  // namespace
}  // namespace tessera
