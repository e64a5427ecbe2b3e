// A cluster for `tessera defrag`: what it reads is what a test put there, and an eviction does what
// the test says.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ports/defrag_cluster.hpp"

namespace tessera {

class FakeDefragCluster final : public DefragCluster {
  public:
    defrag::Snapshot& snapshot() { return snapshot_; }

    void put(const PodFacts& pod, defrag::PodState state) {
        remove(pod.uid);
        state.uid = pod.uid;
        state.name = pod.name;
        state.node = pod.node;
        snapshot_.pods.push_back(pod);
        snapshot_.states.push_back(std::move(state));
    }
    void remove(const PodUid& uid) {
        std::erase_if(snapshot_.pods, [&](const PodFacts& pod) { return pod.uid == uid; });
        std::erase_if(snapshot_.states,
                      [&](const defrag::PodState& pod) { return pod.uid == uid; });
    }
    // In place of an eviction that is carried out; the pod is there still.
    void on_evict(std::function<Result<>(const PodUid&)> hook) { on_evict_ = std::move(hook); }
    void fail_next_read(Error error) { next_read_ = std::move(error); }
    [[nodiscard]] const std::vector<PodName>& evicted() const { return evicted_; }

    Result<defrag::Snapshot> read() override {
        if (next_read_.text.empty()) return snapshot_;
        return fail(std::exchange(next_read_, {}));
    }
    Result<std::vector<defrag::PodState>> pods_of(const std::string& space) override {
        std::vector<defrag::PodState> out;
        std::ranges::copy_if(snapshot_.states, std::back_inserter(out),
                             [&](const auto& pod) { return pod.name.space == space; });
        return out;
    }
    Result<> evict(const PodUid& uid, const PodName& pod) override {
        if (on_evict_) TRY_VOID(on_evict_(uid));
        evicted_.push_back(pod);
        return {};
    }

  private:
    defrag::Snapshot snapshot_;
    std::function<Result<>(const PodUid&)> on_evict_;
    Error next_read_;
    std::vector<PodName> evicted_;
};

}  // namespace tessera
