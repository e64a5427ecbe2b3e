// The owner of the cluster's state: one thread applies every change, in order, and publishes a
// snapshot after each batch. Readers take the last snapshot without waiting for another call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {

class ClusterCache {
  public:
    using Change = std::function<void(ClusterState&)>;

    // With its own thread.
    ClusterCache();
    // Without a thread: the caller that made the cache runs apply(), at any time after `posted` was
    // called; call() applies by itself. One thread at a time.
    explicit ClusterCache(std::function<void()> posted);
    ~ClusterCache();
    ClusterCache(const ClusterCache&) = delete;
    ClusterCache& operator=(const ClusterCache&) = delete;

    // Applied later, in order. `published` is called on the owner's thread once snapshot() has the
    // change.
    void post(Change change, std::function<void()> published = {});

    // Applied in order, after everything posted before; waits for the answer.
    template <class Function>
    auto call(Function function) -> decltype(function(std::declval<ClusterState&>())) {
        using Answer = decltype(function(std::declval<ClusterState&>()));
        std::promise<Answer> promise;
        auto future = promise.get_future();
        post([&](ClusterState& state) { promise.set_value(function(state)); });
        if (!thread_.joinable()) apply();
        return future.get();
    }

    [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;

    // How long the oldest posted change has not been applied; nothing if all were applied. In that
    // case an empty change is posted, so that the next call shows whether the owner still answers.
    // Does not wait for the owner.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> unanswered_for();

    // Applies what was posted so far, and publishes. Only for a cache without a thread.
    void apply();

  private:
    struct Entry {
        Change change;
        std::function<void()> published;
    };

    using Time = std::chrono::steady_clock::time_point;

    void run();
    std::vector<Entry> take_batch() TESSERA_REQUIRES(mutex_);
    void apply(const std::vector<Entry>& batch);

    const std::function<void()> posted_;

    mutable Mutex snapshot_mutex_;
    std::shared_ptr<const Snapshot> snapshot_ TESSERA_GUARDED_BY(snapshot_mutex_);

    Mutex mutex_;
    std::condition_variable_any wake_;
    std::vector<Entry> queue_ TESSERA_GUARDED_BY(mutex_);
    std::optional<Time> queued_since_ TESSERA_GUARDED_BY(mutex_);  // the oldest of queue_
    // The oldest of the batch being applied.
    std::optional<Time> batch_since_ TESSERA_GUARDED_BY(mutex_);
    bool stopping_ TESSERA_GUARDED_BY(mutex_) = false;

    ClusterState state_;  // used by the owner only
    std::thread thread_;  // last: starts when all other members exist
};

}  // namespace tessera
