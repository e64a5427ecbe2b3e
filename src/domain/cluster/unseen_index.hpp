// Tenants that no watch event has shown bound yet. Each for milliseconds, but as many as Bindings
// are under way and the watch is behind: above a thousand where the API server has more to do than
// it can (cluster_bench). Copies share the buckets that did not change since, so a view costs no
// copy of them all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "domain/cluster/tenant.hpp"

namespace tessera {

class UnseenIndex {
  public:
    // In place of the pod's earlier one.
    void set(const TenantPtr& tenant);
    // No effect when there is none.
    void erase(const PodUid& uid);

    // Null when there is none. As long as any copy has it.
    [[nodiscard]] const Tenant* find(const PodUid& uid) const;
    [[nodiscard]] std::size_t size() const { return size_; }
    // In no order.
    [[nodiscard]] std::vector<TenantPtr> all() const;

  private:
    using Bucket = std::vector<TenantPtr>;
    static constexpr std::size_t kBuckets = 32;

    static std::size_t bucket_of(const PodUid& uid);

    std::array<std::shared_ptr<const Bucket>, kBuckets> buckets_;  // null: empty
    std::size_t size_ = 0;
};

}  // namespace tessera
