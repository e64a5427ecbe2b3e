// Keeps the view current: follows nodes and pods, and settles what the watch does not show.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "app/scheduler/scheduler.hpp"
#include "ports/kube_api.hpp"

namespace tessera {

class Feed {
  public:
    // Starts three threads, which end when the feed is destroyed. All references outlive it.
    Feed(KubeApi& kube, Keeper& keeper, Scheduler& scheduler, SchedulerMetrics& metrics);

    // True once the first list of nodes and that of pods are in the view.
    [[nodiscard]] const std::atomic<bool>& synced() const { return progress_->synced; }

  private:
    template <class Changes>
    void take(Changes changes, bool& listed);

    // Shared with changes that the keeper may still apply when the feed is gone.
    struct Progress {
        std::atomic<int> lists_missing = 2;
        std::atomic<bool> synced = false;
    };

    Keeper& keeper_;
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace tessera
