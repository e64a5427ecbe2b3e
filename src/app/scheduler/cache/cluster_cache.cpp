#include "app/scheduler/cache/cluster_cache.hpp"

#include "base/check.hpp"

namespace tessera {

ClusterCache::ClusterCache()
    : snapshot_(std::make_shared<Snapshot>()), thread_([this] { run(); }) {}

ClusterCache::ClusterCache(std::function<void()> posted)
    : posted_(std::move(posted)), snapshot_(std::make_shared<Snapshot>()) {}

ClusterCache::~ClusterCache() {
    if (!thread_.joinable()) return;
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void ClusterCache::post(Change change, std::function<void()> published) {
    {
        const MutexLock lock(mutex_);
        if (queue_.empty()) queued_since_ = std::chrono::steady_clock::now();
        queue_.push_back({std::move(change), std::move(published)});
    }
    wake_.notify_one();
    if (posted_) posted_();
}

std::shared_ptr<const Snapshot> ClusterCache::snapshot() const {
    const MutexLock lock(snapshot_mutex_);
    return snapshot_;
}

std::optional<std::chrono::nanoseconds> ClusterCache::unanswered_for() {
    {
        const MutexLock lock(mutex_);
        const auto since = batch_since_ ? batch_since_ : queued_since_;
        if (since) return std::chrono::steady_clock::now() - *since;
    }
    post([](ClusterState&) {});
    return std::nullopt;
}

void ClusterCache::run() {
    while (true) {
        std::vector<Entry> batch;
        {
            MutexLock lock(mutex_);
            wake_.wait(lock,
                       [this]() TESSERA_REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
            if (queue_.empty()) return;
            batch = take_batch();
        }
        apply(batch);
    }
}

void ClusterCache::apply() {
    TESSERA_CHECK(!thread_.joinable(), "the state has one owner: its thread applies the changes");
    std::vector<Entry> batch;
    {
        const MutexLock lock(mutex_);
        batch = take_batch();
    }
    apply(batch);
}

std::vector<ClusterCache::Entry> ClusterCache::take_batch() {
    batch_since_ = std::exchange(queued_since_, std::nullopt);
    return std::exchange(queue_, {});
}

void ClusterCache::apply(const std::vector<Entry>& batch) {
    for (const Entry& entry : batch)
        entry.change(state_);
    auto snapshot = state_.snapshot();
    {
        const MutexLock lock(snapshot_mutex_);
        snapshot_ = std::move(snapshot);
    }
    for (const Entry& entry : batch) {
        if (entry.published) entry.published();
    }
    const MutexLock lock(mutex_);
    batch_since_ = std::nullopt;
}

}  // namespace tessera
