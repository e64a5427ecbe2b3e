// A cluster for `tessera defrag`: the test defines what it reads and what an eviction does.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "ports/kube/defrag_cluster.hpp"

namespace tessera {

class FakeDefragCluster final : public DefragCluster {
  public:
    defrag::ClusterObjects& objects() { return objects_; }

    void put(const PodInfo& pod, defrag::PodState state) {
        remove(pod.uid);
        state.uid = pod.uid;
        state.name = pod.name;
        state.node = pod.node;
        objects_.pods.push_back(pod);
        objects_.states.push_back(std::move(state));
    }
    void remove(const PodUid& uid) {
        std::erase_if(objects_.pods, [&](const PodInfo& pod) { return pod.uid == uid; });
        std::erase_if(objects_.states, [&](const defrag::PodState& pod) { return pod.uid == uid; });
    }
    // Called for every eviction, which itself does not remove the pod. An error refuses it.
    void on_evict(std::function<Result<>(const PodUid&)> hook) { on_evict_ = std::move(hook); }
    void fail_next_read(Error error) { next_read_ = std::move(error); }
    [[nodiscard]] const std::vector<PodName>& evicted() const { return evicted_; }

    Result<defrag::ClusterObjects> read() override {
        if (next_read_.text.empty()) return objects_;
        return fail(std::exchange(next_read_, {}));
    }
    Result<std::vector<defrag::PodState>> pods_of(const std::string& ns) override {
        std::vector<defrag::PodState> out;
        std::ranges::copy_if(objects_.states, std::back_inserter(out),
                             [&](const auto& pod) { return pod.name.ns == ns; });
        return out;
    }
    Result<> evict(const PodUid& uid, const PodName& pod) override {
        if (on_evict_) TRY_VOID(on_evict_(uid));
        evicted_.push_back(pod);
        return {};
    }

  private:
    defrag::ClusterObjects objects_;
    std::function<Result<>(const PodUid&)> on_evict_;
    Error next_read_;
    std::vector<PodName> evicted_;
};

}  // namespace tessera
