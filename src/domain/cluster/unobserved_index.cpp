#include "domain/cluster/unobserved_index.hpp"

#include <algorithm>
#include <functional>

namespace tessera {
namespace {

const PodUid& uid_of(const AssignedPodPtr& assigned_pod) {
    return assigned_pod->uid;
}

}  // namespace

std::size_t UnobservedIndex::bucket_of(const PodUid& uid) {
    return std::hash<PodUid>{}(uid) % kBuckets;
}

void UnobservedIndex::set(const AssignedPodPtr& assigned_pod) {
    erase(assigned_pod->uid);
    auto& shared = buckets_.at(bucket_of(assigned_pod->uid));
    auto bucket = shared ? std::make_shared<Bucket>(*shared) : std::make_shared<Bucket>();
    bucket->push_back(assigned_pod);
    shared = std::move(bucket);
    ++size_;
}

void UnobservedIndex::erase(const PodUid& uid) {
    auto& shared = buckets_.at(bucket_of(uid));
    if (find(uid) == nullptr) return;
    auto bucket = std::make_shared<Bucket>(*shared);
    std::erase_if(*bucket,
                  [&](const AssignedPodPtr& assigned_pod) { return assigned_pod->uid == uid; });
    shared = std::move(bucket);
    --size_;
}

const AssignedPod* UnobservedIndex::find(const PodUid& uid) const {
    const auto& bucket = buckets_.at(bucket_of(uid));
    if (!bucket) return nullptr;
    const auto at = std::ranges::find(*bucket, uid, uid_of);
    return at == bucket->end() ? nullptr : at->get();
}

std::vector<AssignedPodPtr> UnobservedIndex::all() const {
    std::vector<AssignedPodPtr> out;
    for (const auto& bucket : buckets_) {
        if (bucket) out.insert(out.end(), bucket->begin(), bucket->end());
    }
    return out;
}

}  // namespace tessera
