#include "domain/cluster/unseen_index.hpp"

#include <algorithm>
#include <functional>

namespace tessera {
namespace {

const PodUid& uid_of(const TenantPtr& tenant) {
    return tenant->uid;
}

}  // namespace

std::size_t UnseenIndex::bucket_of(const PodUid& uid) {
    return std::hash<PodUid>{}(uid) % kBuckets;
}

void UnseenIndex::set(const TenantPtr& tenant) {
    erase(tenant->uid);
    auto& shared = buckets_.at(bucket_of(tenant->uid));
    auto bucket = shared ? std::make_shared<Bucket>(*shared) : std::make_shared<Bucket>();
    bucket->push_back(tenant);
    shared = std::move(bucket);
    ++size_;
}

void UnseenIndex::erase(const PodUid& uid) {
    auto& shared = buckets_.at(bucket_of(uid));
    if (find(uid) == nullptr) return;
    auto bucket = std::make_shared<Bucket>(*shared);
    std::erase_if(*bucket, [&](const TenantPtr& tenant) { return tenant->uid == uid; });
    shared = std::move(bucket);
    --size_;
}

const Tenant* UnseenIndex::find(const PodUid& uid) const {
    const auto& bucket = buckets_.at(bucket_of(uid));
    if (!bucket) return nullptr;
    const auto at = std::ranges::find(*bucket, uid, uid_of);
    return at == bucket->end() ? nullptr : at->get();
}

std::vector<TenantPtr> UnseenIndex::all() const {
    std::vector<TenantPtr> out;
    for (const auto& bucket : buckets_) {
        if (bucket) out.insert(out.end(), bucket->begin(), bucket->end());
    }
    return out;
}

}  // namespace tessera
