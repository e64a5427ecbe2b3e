// A Nominator for GPUs of 16 GiB, with an API server that records the writes. The pods "first-NN"
// wait longer than all others: kube-scheduler is about to take them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/scheduler/nomination/nominator.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"

namespace tessera {

using namespace std::chrono_literals;
using Writes = std::vector<std::string>;

class NominatorTest : public ::testing::Test {
  protected:
    static constexpr const char* kScheduler = "default-scheduler";
    static constexpr std::size_t kSkip = 32;

    // The watch shows every nomination.
    NominatorTest() {
        api_.on_nominate([this](const PodUid& uid, const NodeName& node) {
            if (!is_watch_on_) return;
            pods_.at(uid).nominated = node;
            pods_.at(uid).is_nominated_ahead = !node.empty();
            tell([pod = pods_.at(uid)](ClusterState& state) { state.set_pod(pod); });
        });
        for (std::size_t i = 0; i < kSkip; ++i)
            waits(fmt::format("first-{:02}", i), "2026-01-01T00:00:00Z", 1);
    }
    void tell(const ClusterCache::Change& change) {
        cache_.call([&](ClusterState& state) {
            change(state);
            return true;
        });
    }
    void node(const std::string& name, int gpus, NodeTraits traits = {}, HostRequest host = {}) {
        NodeInventory node = build::node(name, gpus, gibibytes(16));
        traits.name = node.name;
        node.traits = SharedNodeTraits(std::move(traits));
        node.host = host;
        tell([node](ClusterState& state) { state.set_node(node); });
    }
    PodInfo pod(const std::string& name, const std::string& created, int gib,
                SchedulingRules rules = {}) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.created = created;
        if (rules.scheduler.empty()) rules.scheduler = kScheduler;
        pod.scheduling = std::make_shared<const SchedulingRules>(std::move(rules));
        return pod;
    }
    void show(const PodInfo& pod) {
        pods_[pod.uid] = pod;
        tell([pod](ClusterState& state) { state.set_pod(pod); });
    }
    PodInfo waits(const std::string& name, const std::string& created, int gib,
                  SchedulingRules rules = {}) {
        const PodInfo waiting = pod(name, created, gib, std::move(rules));
        show(waiting);
        return waiting;
    }
    PodInfo later(const std::string& name, int gib, SchedulingRules rules = {}) {
        return waits(name, "2026-01-02T00:00:00Z", gib, std::move(rules));
    }
    // A pod with 6 GiB that is being deleted.
    PodInfo terminating(const std::string& name, const std::string& node, int priority) {
        PodInfo pod = build::pod(name, build::native(gibibytes(6)));
        pod = build::bound(
            pod, build::allocation(pod, node,
                                   {{GpuUuid("GPU-" + node + "-0"), 0, gibibytes(6), {}, false}}));
        pod.priority = priority;
        pod.terminating = true;
        show(pod);
        return pod;
    }
    // All writes so far, after a round that runs `time` later.
    const Writes& writes_after(std::chrono::nanoseconds time = Nominator::kIdle) {
        clock_.advance(time);
        nominator_.run_round();
        return api_.writes();
    }
    // kube-scheduler asks about these nodes, and the filter offers those in `fitting`.
    void asks(const PodInfo& pod, const std::vector<std::string_view>& nodes,
              std::vector<std::size_t> fitting) {
        ExtenderArgs args;
        args.pod = pod;
        args.names = nodes;
        FilterAnswer answer;
        answer.fitting = std::move(fitting);
        if (answer.fitting.empty()) answer.failed.push_back({0, "no room"});
        nominator_.note(args, answer);
    }
    NodeName reserved_on(const PodInfo& pod) {
        return cache_.call([&](ClusterState& state) {
            const PendingPod* pending = state.pending(pod.uid);
            return pending == nullptr ? NodeName() : pending->reserved_on();
        });
    }
    NominatorTools tools() {
        return {.nominations = api_,
                .cache = cache_,
                .metrics = metrics_,
                .clock = clock_,
                .fence = WriteFence([this](std::chrono::nanoseconds) { return leads_; }),
                .policies = nullptr,
                .schedulers = {kScheduler},
                .skip = kSkip,
                .writers = 0};
    }

    FakeClock clock_;
    ClusterCache cache_{[] {}};
    std::map<PodUid, PodInfo> pods_;
    FakeEvictions api_;
    SchedulerMetrics metrics_{clock_};
    bool leads_ = true;
    bool is_watch_on_ = true;
    Nominator nominator_{tools()};
};

}  // namespace tessera
