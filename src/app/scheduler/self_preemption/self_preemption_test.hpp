// SelfPreemption on GPUs of 16 GiB, with an API server that records the writes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "app/scheduler/self_preemption/self_preemption.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"

namespace tessera {

using namespace std::chrono_literals;
using Writes = std::vector<std::string>;

class SelfPreemptionTest : public ::testing::Test {
  protected:
    // The watch shows every nomination.
    SelfPreemptionTest() {
        evictions_.on_nominate([this](const PodUid& uid, const NodeName& node) {
            PodInfo& pod = waiting_.at(uid);
            pod.nominated = node;
            cache_.call([&](ClusterState& state) { return state.set_pod(pod); });
        });
    }
    void tell(const ClusterCache::Change& change) {
        cache_.post(change);
        cache_.apply();
    }
    // `count` GPUs of 16 GiB.
    void node(const std::string& name, int count) {
        tell([=](ClusterState& state) { state.set_node(build::node(name, count, gibibytes(16))); });
    }
    PodInfo holder(const std::string& name, const std::string& node, int gpu, int gib,
                   int priority) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        const GpuUuid uuid("GPU-" + node + "-" + std::to_string(gpu));
        pod = build::bound(pod,
                           build::allocation(pod, node, {{uuid, gpu, gibibytes(gib), {}, false}}));
        tell([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    PodInfo waits(const std::string& name, int gib, int priority) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        waiting_[pod.uid] = pod;
        tell([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    void nominate(const PodInfo& pod, const std::string& node) {
        waiting_.at(pod.uid).nominated = NodeName(node);
        tell([now = waiting_.at(pod.uid)](ClusterState& state) { state.set_pod(now); });
    }
    // Every node of the list refuses the pod.
    bool refuse(const PodInfo& pod, const std::vector<std::string_view>& nodes) {
        ExtenderArgs args;
        args.pod = pod;
        args.names = nodes;
        FilterAnswer answer;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            answer.failed.push_back({i, "no room"});
        const bool may_help = preemption_.may_help(args, answer);
        if (may_help) preemption_.note(args, answer);
        return may_help;
    }
    // A node is offered to the pod.
    void offer_node(const PodInfo& pod) {
        ExtenderArgs args;
        args.pod = pod;
        FilterAnswer answer;
        answer.fitting.push_back(0);
        preemption_.note(args, answer);
    }
    // All writes so far, after a round that runs `time` later.
    const Writes& writes_after(std::chrono::nanoseconds time) {
        clock_.advance(time);
        preemption_.run_round();
        return evictions_.writes();
    }
    // Whether the pod has a reservation on that node.
    bool has_reservation(const PodInfo& pod, const std::string& node) {
        return cache_.call([&](ClusterState& state) {
            const PendingPod* pending = state.pending(pod.uid);
            return pending != nullptr && pending->reserved_on() == NodeName(node);
        });
    }

    struct HalfMade {
        PodInfo high;
        PodInfo first;
        PodInfo second;
        Writes one;  // so far
    };
    // Two pods fill a GPU, and a budget allows one eviction: `first` was evicted for `high`.
    HalfMade half_made() {
        node("a", 1);
        const PodInfo first = holder("x", "a", 0, 8, 1);
        const PodInfo second = holder("y", "a", 0, 8, 1);
        evictions_.allow({first.uid, second.uid}, 1);
        const PodInfo high = waits("high", 16, 10);
        EXPECT_TRUE(refuse(high, {"a"}));
        const Writes one = {"evict x", "mark x for high"};
        EXPECT_EQ(writes_after(2s), one);
        return {high, first, second, one};
    }

    FakeClock clock_;
    ClusterCache cache_{[] {}};
    std::map<PodUid, PodInfo> waiting_;
    FakeEvictions evictions_;
    SchedulerMetrics metrics_{clock_};
    bool leads_ = true;
    int announced_ = 0;  // writes for which the Lease is kept
    SelfPreemption preemption_{
        {evictions_, cache_, metrics_, clock_, WriteFence([this](std::chrono::nanoseconds within) {
             if (within > 0ns) ++announced_;
             return leads_;
         })}};
};

}  // namespace tessera
