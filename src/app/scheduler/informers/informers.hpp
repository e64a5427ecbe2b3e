// Keeps the snapshot current: follows nodes and pods, and reconciles what the watch does not show.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/observe/metrics.hpp"
#include "app/scheduler/scheduler.hpp"
#include "base/mutex.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kube/pod_groups.hpp"

namespace tessera {

class Informers {
  public:
    // All of these outlive the informers.
    Informers(KubeApi& kube, ClusterCache& cache, Scheduler& scheduler, SchedulerMetrics& metrics,
              Clock& clock, PodGroups* groups = nullptr);

    // Each runs until `stop`, in its own thread.
    void follow_nodes(const std::stop_token& stop);
    void follow_pods(const std::stop_token& stop);
    void follow_pod_groups(const std::stop_token& stop);
    void reconcile(const std::stop_token& stop);

    // Lists the pods again, and frees the reservations that the list does not confirm. Call it when
    // no earlier Binding can land any more, but another leader may have given the GPUs to other
    // pods. `done` is called once the list is in the snapshot. Any thread; returns at once.
    void relist_pods(std::function<void()> done);

    // True once the first list of nodes and that of pods are in the snapshot.
    [[nodiscard]] const std::atomic<bool>& synced() const { return progress_->synced; }

  private:
    template <class Changes>
    void take(Changes changes, bool& has_list, std::function<void()> published = {});
    std::function<void()> done_calls_of(int round);

    // Shared with changes that the cache may still apply after the informers are gone.
    struct Progress {
        std::atomic<int> lists_missing = 2;
        std::atomic<bool> synced = false;
    };

    void on_error(const Error& error);

    KubeApi& kube_;
    ClusterCache& cache_;
    Scheduler& scheduler_;
    SchedulerMetrics& metrics_;
    Clock& clock_;
    PodGroups* const groups_;
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();

    // Pods are followed in rounds, each of which begins with a list.
    struct Asked {
        int round = 0;  // the first round that began after the request
        std::function<void()> done;
    };
    Mutex rounds_mutex_;
    int round_ TESSERA_GUARDED_BY(rounds_mutex_) = 0;
    std::stop_source round_ends_ TESSERA_GUARDED_BY(rounds_mutex_);
    std::vector<Asked> asked_ TESSERA_GUARDED_BY(rounds_mutex_);
};

// Runs informers in their own threads, which end when this is destroyed.
class InformerThreads {
  public:
    explicit InformerThreads(Informers& informers);

  private:
    std::array<std::jthread, 4> threads_;
};

}  // namespace tessera
