// Keeps the view current: follows nodes and pods, and settles what the watch does not show.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "app/scheduler/scheduler.hpp"
#include "ports/kube_api.hpp"
#include "ports/pod_groups.hpp"

namespace tessera {

class Feed {
  public:
    // All of these outlive the feed.
    Feed(KubeApi& kube, Keeper& keeper, Scheduler& scheduler, SchedulerMetrics& metrics,
         Clock& clock, PodGroups* groups = nullptr);

    // Each lasts until `stop`, in a thread of its own.
    void follow_nodes(const std::stop_token& stop);
    void follow_pods(const std::stop_token& stop);
    void follow_pod_groups(const std::stop_token& stop);
    void settle(const std::stop_token& stop);

    // Lists the pods anew, and frees the reservations that the list does not confirm: to be called
    // when no Binding that was begun before can land any more, and others may have given their
    // cards away since. `done` is called once that is in the view. Any thread; returns at once.
    void relist_pods(std::function<void()> done);

    // True once the first list of nodes and that of pods are in the view.
    [[nodiscard]] const std::atomic<bool>& synced() const { return progress_->synced; }

  private:
    template <class Changes>
    void take(Changes changes, bool& listed, std::function<void()> published = {});
    std::function<void()> asked_until(int round);

    // Shared with changes that the keeper may still apply when the feed is gone.
    struct Progress {
        std::atomic<int> lists_missing = 2;
        std::atomic<bool> synced = false;
    };

    void on_trouble(const Error& error);

    KubeApi& kube_;
    Keeper& keeper_;
    Scheduler& scheduler_;
    SchedulerMetrics& metrics_;
    Clock& clock_;
    PodGroups* const groups_;
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();

    // Pods are followed in rounds, each of which begins with a list.
    struct Asked {
        int round = 0;  // the first that was begun afterwards
        std::function<void()> done;
    };
    std::mutex rounds_mutex_;
    int round_ = 0;  // guarded by rounds_mutex_, like the rest
    std::stop_source round_ends_;
    std::vector<Asked> asked_;
};

// Runs a feed in threads of its own, which end when this is destroyed.
class FeedThreads {
  public:
    explicit FeedThreads(Feed& feed);

  private:
    std::array<std::jthread, 4> threads_;
};

}  // namespace tessera
