#include "domain/allocation/allocation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace tessera {
namespace {

ContainerAllocation container(ContainerKind kind, std::vector<std::pair<int, int>> gib_and_cores,
                              const std::string& uuid = "GPU-a") {
    ContainerAllocation out{"c", kind, {}};
    for (const auto& [gib, cores] : gib_and_cores) {
        out.gpus.push_back({GpuUuid(uuid), 0, gibibytes(gib), {cores}, false});
    }
    return out;
}

constexpr auto kApp = ContainerKind::app;
constexpr auto kInit = ContainerKind::init;
constexpr auto kSidecar = ContainerKind::sidecar;

// Goal: the peak on a GPU over a pod's life. Method: a table of containers in start order with the
// memory and compute that the GPU must have, by Kubernetes' rule.
TEST(Holds, PeakOverThePodsLife) {
    struct Case {
        const char* what;
        std::vector<ContainerAllocation> containers;
        int gib;
        int cores;
    };
    const std::vector<Case> cases = {
        {"one app container", {container(kApp, {{4, 20}})}, 4, 20},
        {"app containers add up", {container(kApp, {{4, 20}}), container(kApp, {{3, 30}})}, 7, 50},
        {"init above the apps", {container(kInit, {{9, 10}}), container(kApp, {{4, 20}})}, 9, 20},
        {"init below the apps", {container(kInit, {{3, 90}}), container(kApp, {{4, 20}})}, 4, 90},
        {"inits do not add up", {container(kInit, {{5, 0}}), container(kInit, {{6, 0}})}, 6, 0},
        {"a sidecar adds to the apps",
         {container(kSidecar, {{2, 5}}), container(kApp, {{4, 20}})},
         6,
         25},
        {"a sidecar adds to later inits",
         {container(kSidecar, {{2, 5}}), container(kInit, {{7, 10}}), container(kApp, {{4, 20}})},
         9,
         25},
        {"and not to earlier ones",
         {container(kInit, {{7, 10}}), container(kSidecar, {{2, 5}}), container(kApp, {{4, 20}})},
         7,
         25},
    };
    for (const Case& c : cases) {
        const auto allocated = allocated_by_gpu(c.containers);
        ASSERT_EQ(allocated.size(), 1U) << c.what;
        EXPECT_EQ(allocated[0].memory, gibibytes(c.gib)) << c.what;
        EXPECT_EQ(allocated[0].cores.value, c.cores) << c.what;
    }
}

// Goal: GPUs are separate and sorted by uuid, in any order of containers.
TEST(Holds, EachGpuByItself) {
    const auto allocated =
        allocated_by_gpu({container(kApp, {{4, 0}}, "GPU-b"), container(kApp, {{3, 0}}, "GPU-a"),
                          container(kInit, {{9, 0}}, "GPU-b")});
    ASSERT_EQ(allocated.size(), 2U);
    EXPECT_EQ(allocated[0], (GpuAllocation{GpuUuid("GPU-a"), gibibytes(3), {}}));
    // An init container after an app container in this list runs beside the earlier ones.
    EXPECT_EQ(allocated[1], (GpuAllocation{GpuUuid("GPU-b"), gibibytes(13), {}}));
    EXPECT_TRUE(allocated_by_gpu({}).empty());
}

// Goal: the peak is never below what any phase of the pod's life uses. Method: random containers.
// Simulate the phases (each init container with the sidecars started before it, then everything
// that stays) and compare the sums per GPU. One phase reaches the peak, so nothing is allocated
// needlessly.
RC_GTEST_PROP(HoldsProperty, ExactlyTheHighestPhase, ()) {
    const auto draw = [](int most) { return *rc::gen::inRange(0, most); };
    std::vector<ContainerAllocation> containers;
    for (int phase = 0; phase < 2; ++phase) {
        for (int i = draw(4); i > 0; --i) {
            ContainerAllocation c{"c", phase == 1 ? kApp : draw(2) == 0 ? kInit : kSidecar, {}};
            for (int gpu = 0; gpu < 3; ++gpu) {
                if (draw(2) == 0) continue;
                c.gpus.push_back({GpuUuid("GPU-" + std::to_string(gpu)),
                                  gpu,
                                  mebibytes(draw(1000)),
                                  {draw(50)},
                                  false});
            }
            containers.push_back(std::move(c));
        }
    }
    std::map<GpuUuid, GpuAllocation> highest;
    const auto play = [&](const std::vector<const ContainerAllocation*>& running) {
        std::map<GpuUuid, GpuAllocation> sums;
        for (const ContainerAllocation* c : running) {
            for (const GpuShare& share : c->gpus) {
                GpuAllocation& sum = sums[share.uuid];
                sum.memory += share.memory;
                sum.cores = sum.cores + share.cores;
            }
        }
        for (const auto& [uuid, sum] : sums) {
            GpuAllocation& most = highest[uuid];
            most.uuid = uuid;
            most.memory = std::max(most.memory, sum.memory);
            most.cores = std::max(most.cores, sum.cores);
        }
    };
    std::vector<const ContainerAllocation*> staying;
    for (const ContainerAllocation& c : containers) {
        auto running = staying;
        running.push_back(&c);
        play(running);
        if (c.kind != kInit) staying.push_back(&c);
    }
    play(staying);
    const auto allocated = allocated_by_gpu(containers);
    RC_ASSERT(allocated.size() == highest.size());
    for (const GpuAllocation& on_gpu : allocated)
        RC_ASSERT(on_gpu == highest.at(on_gpu.uuid));
}

}  // namespace
}  // namespace tessera
