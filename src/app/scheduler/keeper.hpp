// The owner of the cluster's state: one thread applies every change, in order, and publishes a view
// after each batch. Readers take the last view without waiting for anyone's decision.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "domain/cluster/state.hpp"

namespace tessera {

class Keeper {
  public:
    using Change = std::function<void(ClusterState&)>;

    // With a thread of its own.
    Keeper();
    // Without: apply() is called by whoever made the keeper, at any time after `posted` was; ask()
    // applies by itself. One thread at a time.
    explicit Keeper(std::function<void()> posted);
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    // Applied later, in order. `published` is called on the owner's thread once view() has the
    // change.
    void post(Change change, std::function<void()> published = {});

    // Applied in order, after everything posted before; waits for the answer.
    template <class Function>
    auto ask(Function function) -> decltype(function(std::declval<ClusterState&>())) {
        using Answer = decltype(function(std::declval<ClusterState&>()));
        std::promise<Answer> promise;
        auto future = promise.get_future();
        post([&](ClusterState& state) { promise.set_value(function(state)); });
        if (!thread_.joinable()) apply();
        return future.get();
    }

    [[nodiscard]] std::shared_ptr<const ClusterView> view() const;

    // For how long the oldest change that was posted has not been applied; nothing when all were.
    // Then an empty one is posted, so that the next call tells whether the owner still answers.
    // Does not wait for the owner.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> unanswered_for();

    // Applies what was posted so far, and publishes. Only where there is no thread that does so.
    void apply();

  private:
    struct Entry {
        Change change;
        std::function<void()> published;
    };

    using Time = std::chrono::steady_clock::time_point;

    void run();
    std::vector<Entry> take_batch();
    void apply(const std::vector<Entry>& batch);

    const std::function<void()> posted_;

    mutable std::mutex view_mutex_;
    std::shared_ptr<const ClusterView> view_;  // guarded by view_mutex_

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<Entry> queue_;          // guarded by mutex_
    std::optional<Time> queued_since_;  // guarded by mutex_: the oldest of queue_
    std::optional<Time> batch_since_;   // guarded by mutex_: the oldest of what is being applied
    bool stopping_ = false;             // guarded by mutex_

    ClusterState state_;  // of the owner alone
    std::thread thread_;  // last: starts when all else is there
};

}  // namespace tessera
