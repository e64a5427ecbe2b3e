#include "app/agent/mps/gpu_modes.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_mps_daemons.hpp"

namespace tessera {
namespace {

const GpuUuid gpu_a{"GPU-a"};
const NodeName node_a{"node-a"};

class AgentGpuModes : public testing::Test {
  protected:
    static PodInfo pod(const std::string& name, bool mps, int gib = 3, int cores = 25) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.node = node_a;
        pod.allocation = Allocation{.pod = pod.uid,
                                    .node = node_a,
                                    .containers = {{"main",
                                                    ContainerKind::app,
                                                    {{.uuid = gpu_a,
                                                      .index = 0,
                                                      .memory = gibibytes(gib),
                                                      .cores = {cores},
                                                      .mps = mps}}}}};
        return pod;
    }
    void show(std::vector<PodInfo> pods) {
        PodChanges changes{.upserted = {}, .deleted = {}, .listed = std::set<PodUid>()};
        for (PodInfo& one : pods) {
            changes.listed->insert(one.uid);
            changes.upserted.push_back(std::move(one));
        }
        modes.take(changes);
        modes.apply();
    }
    // The answer for a container that starts now; empty if it may start.
    std::string start(const PodInfo& pod) {
        const std::vector<Gpu> gpus{{.uuid = gpu_a, .index = 0}};
        const auto checked = modes.check((**pod.allocation).containers[0], gpus);
        return checked ? "" : checked.error().text;
    }
    void serve(MpsPhase phase, MpsSettings settings, const std::string& reason = {}) {
        daemons.states[gpu_a] = {.gpu = gpu_a,
                                 .phase = phase,
                                 .reason = reason,
                                 .settings = settings,
                                 .checked_unix_ns = clock.unix_ns()};
    }

    FakeClock clock;
    FakeMpsDaemons daemons;
    GpuModes modes{{daemons, daemons, clock}, node_a};
};

// Goal: a GPU has a daemon from the moment when a pod with MPS is placed on it until no pod and no
// container of such a pod is left, with limits for the largest of them.
TEST_F(AgentGpuModes, ADaemonForTheTimeOfItsPods) {
    show({pod("guarded", false)});
    EXPECT_TRUE(daemons.wants.empty());
    show({pod("a", true), pod("b", true, 2, 50)});
    EXPECT_EQ(daemons.wants.at(gpu_a), (MpsSettings{.threads = {50}, .memory = gibibytes(4)}));
    show({pod("a", true)});
    EXPECT_EQ(daemons.wants.at(gpu_a), (MpsSettings{.threads = {25}, .memory = gibibytes(4)}));
    // The pod is gone from the API server, and its container still runs.
    daemons.started = {{.pod = PodUid("a"),
                        .container = "main",
                        .gpu = gpu_a,
                        .threads = {25},
                        .memory = gibibytes(3)}};
    show({});
    EXPECT_TRUE(daemons.wants.contains(gpu_a));
    daemons.started.clear();
    modes.apply();
    EXPECT_FALSE(daemons.wants.contains(gpu_a));
}

// Goal: an agent that has just started takes no daemon from pods that it does not know yet.
TEST_F(AgentGpuModes, NothingEndsBeforeThePodsAreKnown) {
    daemons.wants[gpu_a] = {.threads = {50}, .memory = gibibytes(8)};
    modes.apply();
    modes.take({.upserted = {pod("a", true)}, .deleted = {}, .listed = std::nullopt});
    modes.apply();
    EXPECT_EQ(daemons.wants.at(gpu_a).threads, Percent{50});
    show({pod("a", true)});
    EXPECT_EQ(daemons.wants.at(gpu_a).threads, Percent{25});
    daemons.wants_error = fail(Code::unavailable, "no space left");
    show({});
    EXPECT_TRUE(daemons.wants.contains(gpu_a));
    daemons.wants_error = {};
    modes.apply();
    EXPECT_FALSE(daemons.wants.contains(gpu_a));
}

// Goal: a file that cannot be read is no reason to end a daemon before the pods are known, and a
// GPU with other pods does not enter MPS mode, whatever an allocation says.
TEST_F(AgentGpuModes, WhatMustNotChange) {
    daemons.wants[gpu_a] = {.threads = {50}, .memory = gibibytes(8)};
    daemons.wanted_error = fail(Code::unavailable, "too many open files");
    modes.apply();
    EXPECT_TRUE(daemons.wants.contains(gpu_a));
    daemons.wanted_error = {};
    daemons.wants.clear();
    show({pod("guarded", false), pod("a", true)});
    EXPECT_TRUE(daemons.wants.empty());
    show({pod("a", true)});
    EXPECT_FALSE(daemons.wants.empty());
}

// Goal: a pod that ended, or is of another node, or whose allocation is not its own, keeps no
// daemon.
TEST_F(AgentGpuModes, OnlyPodsThatHaveTheGpu) {
    PodInfo finished = pod("finished", true);
    finished.finished = true;
    PodInfo copied = pod("copied", true);
    copied.uid = PodUid("another");
    PodInfo elsewhere = pod("elsewhere", true);
    elsewhere.node = NodeName("node-b");
    (**elsewhere.allocation).node = NodeName("node-b");
    show({finished, copied, elsewhere});
    EXPECT_TRUE(daemons.wants.empty());
}

// Goal: a container with MPS starts only when its GPU's daemon serves it, and the text of the event
// says what it waits for.
TEST_F(AgentGpuModes, AContainerWithMpsStartsWhenItIsServed) {
    const PodInfo one = pod("a", true);
    daemons.wants[gpu_a] = {.threads = {25}, .memory = gibibytes(4)};
    const std::string waits = "GPU 0 is not ready for the container: ";
    EXPECT_EQ(start(one), waits + "it is entering MPS mode");
    serve(MpsPhase::starting, {});
    EXPECT_EQ(start(one), waits + "its MPS control daemon is getting its settings");
    serve(MpsPhase::failed, {}, "no such program");
    EXPECT_EQ(start(one), waits + "MPS does not serve it: no such program");
    serve(MpsPhase::ready, {.threads = {20}, .memory = gibibytes(4)});
    EXPECT_EQ(start(one), waits + "its MPS control daemon is getting its settings");
    serve(MpsPhase::ready, {.threads = {25}, .memory = gibibytes(4)});
    EXPECT_EQ(start(one), "");
    // Its last pod has gone, and the daemon is about to end.
    daemons.wants.clear();
    EXPECT_EQ(start(one), waits + "its MPS control daemon is getting its settings");
    daemons.wants[gpu_a] = {.threads = {25}, .memory = gibibytes(4)};
    clock.advance(std::chrono::minutes(3));
    EXPECT_NE(start(one).find("tessera-mps does not run on this node"), std::string::npos);
    serve(MpsPhase::ready, {.threads = {25}, .memory = gibibytes(4)});
    daemons.supervised = false;
    EXPECT_NE(start(one).find("tessera-mps does not run on this node"), std::string::npos);
}

// Goal: a container without MPS starts only when nothing of MPS is left on its GPU, because the GPU
// admits no other program until then.
TEST_F(AgentGpuModes, AnotherContainerStartsWhenMpsIsGone) {
    const PodInfo one = pod("a", false);
    EXPECT_EQ(start(one), "");
    daemons.wants[gpu_a] = {};
    EXPECT_NE(start(one), "");
    daemons.wants.clear();
    serve(MpsPhase::stopping, {}, "the driver does not answer");
    EXPECT_EQ(start(one),
              "GPU 0 is not ready for the container: it is leaving MPS mode (the driver does not "
              "answer)");
    daemons.supervised = false;
    EXPECT_NE(start(one).find("it is in MPS mode, and tessera-mps does not run"),
              std::string::npos);
    daemons.states.clear();
    EXPECT_EQ(start(one), "");
}

// Goal: the wait of a container's start ends when its GPU is ready, or after a bounded time; a pod
// that is not known does not wait.
TEST_F(AgentGpuModes, WaitsForABoundedTime) {
    const auto waited = [&](const PodUid& pod) {
        const auto from = clock.steady();
        modes.wait_for(pod);
        return clock.steady() - from;
    };
    const PodInfo one = pod("a", true);
    EXPECT_EQ(waited(one.uid).count(), 0);
    show({one});
    EXPECT_GE(waited(one.uid), GpuModes::kLongestWait);
    serve(MpsPhase::ready, {.threads = {25}, .memory = gibibytes(4)});
    EXPECT_EQ(waited(one.uid).count(), 0);
}

}  // namespace
}  // namespace tessera
