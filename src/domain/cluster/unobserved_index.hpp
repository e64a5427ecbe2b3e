// Assigned pods that no watch event has shown as bound yet. Each stays for milliseconds. There are
// as many as Bindings in progress or behind the watch: above a thousand if the API server is
// overloaded (cluster_bench). Copies share the buckets that did not change, so a snapshot does not
// copy them all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "domain/cluster/assigned_pod.hpp"

namespace tessera {

class UnobservedIndex {
  public:
    // Replaces the pod's earlier one.
    void set(const AssignedPodPtr& assigned_pod);
    // No effect if there is none.
    void erase(const PodUid& uid);

    // Null if there is none. The pointer is valid as long as any copy contains it.
    [[nodiscard]] const AssignedPod* find(const PodUid& uid) const;
    [[nodiscard]] std::size_t size() const { return size_; }
    // In no order.
    [[nodiscard]] std::vector<AssignedPodPtr> all() const;

  private:
    using Bucket = std::vector<AssignedPodPtr>;
    static constexpr std::size_t kBuckets = 32;

    static std::size_t bucket_of(const PodUid& uid);

    std::array<std::shared_ptr<const Bucket>, kBuckets> buckets_;  // null: empty
    std::size_t size_ = 0;
};

}  // namespace tessera
