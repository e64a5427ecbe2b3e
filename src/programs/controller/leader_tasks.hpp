// What the controller that leads does beside answering kube-scheduler: it evicts pods for pods of
// higher priority, nominates pods ahead of their turn, answers resize requests, reports unknown
// annotations, ends roles of training jobs, and evicts pods that disturb others. Each is a thread.
#pragma once

#include <stop_token>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_evictions.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/kube/kube_pod_resizes.hpp"
#include "adapters/workload/kube_training_roles.hpp"
#include "app/common/periodic.hpp"
#include "app/scheduler/leader/offender_eviction.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/nomination/nominator.hpp"
#include "app/scheduler/observe/unknown_annotation_reporter.hpp"
#include "app/scheduler/resize/resizer.hpp"
#include "app/scheduler/self_preemption/self_preemption.hpp"
#include "app/scheduler/training/training_cleanup.hpp"

namespace tessera {

// As in NominatorTools.
struct NominationSettings {
    std::vector<std::string> schedulers;
    std::size_t from_nodes = 0;
    std::size_t skip = 0;
};

// All of it outlives the tasks.
struct LeaderTaskTools {
    HttpClient& api;  // the API server
    ClusterCache& cache;
    SchedulerMetrics& metrics;
    Clock& clock;
    const AllocationSeal* seal = nullptr;  // null: allocations are not signed
    WriteFence fence;
    const PolicySet* policies = nullptr;  // null: binpack for all
    NominationSettings nominations;
};

class LeaderTasks {
  public:
    explicit LeaderTasks(const LeaderTaskTools& with)
        : evictions_(with.api),
          resizes_(with.api, with.seal),
          events_(with.api),
          training_roles_(with.api),
          preemption_({evictions_, with.cache, with.metrics, with.clock, with.fence}),
          nominator_({evictions_, with.cache, with.metrics, with.clock, with.fence, with.policies,
                      with.nominations.schedulers, with.nominations.from_nodes,
                      with.nominations.skip}),
          resizer_(
              {resizes_, events_, with.cache, with.metrics, with.clock, with.seal, with.fence}),
          reporter_({events_, with.cache, with.fence}),
          cleanup_({training_roles_, with.fence}),
          offenders_({evictions_, events_, with.cache, with.clock, with.fence}),
          preempting_(with.clock, SelfPreemption::kPeriod,
                      [this](const std::stop_token& stop) { preemption_.run_round(stop); }),
          nominating_(with.clock, nominator_.period(),
                      [this](const std::stop_token& stop) { nominator_.run_round(stop); }),
          resizing_(with.clock, Resizer::kPeriod,
                    [this](const std::stop_token& stop) { resizer_.run_round(stop); }),
          reporting_(with.clock, UnknownAnnotationReporter::kPeriod,
                     [this](const std::stop_token&) { reporter_.run_round(); }),
          cleaning_(with.clock, TrainingCleanup::kPeriod,
                    [this](const std::stop_token& stop) { cleanup_.run_round(stop); }),
          evicting_(with.clock, OffenderEviction::kPeriod,
                    [this](const std::stop_token& stop) { offenders_.run_round(stop); }) {}

    LeaderTasks(const LeaderTasks&) = delete;
    LeaderTasks& operator=(const LeaderTasks&) = delete;

    [[nodiscard]] SelfPreemption& preemption() { return preemption_; }
    [[nodiscard]] Nominator& nominator() { return nominator_; }

    struct Enabled {
        bool preempts = true;
        bool ends_training_roles = true;
    };

    void start(Enabled enabled) {
        if (enabled.preempts) preempting_.start();
        nominating_.start();
        resizing_.start();
        reporting_.start();
        evicting_.start();
        if (!enabled.ends_training_roles) return;
        following_roles_ =
            std::jthread([this](const std::stop_token& stop) { cleanup_.follow(stop); });
        cleaning_.start();
    }
    // Nothing is written after this returns.
    void stop() {
        following_roles_ = {};
        cleaning_.stop();
        evicting_.stop();
        reporting_.stop();
        resizing_.stop();
        nominating_.stop();
        nominator_.stop();
        preempting_.stop();
    }

  private:
    KubeEvictions evictions_;
    KubePodResizes resizes_;
    KubePodEvents events_;
    KubeTrainingRoles training_roles_;
    SelfPreemption preemption_;
    Nominator nominator_;
    Resizer resizer_;
    UnknownAnnotationReporter reporter_;
    TrainingCleanup cleanup_;
    OffenderEviction offenders_;
    Periodic preempting_;
    Periodic nominating_;
    Periodic resizing_;
    Periodic reporting_;
    Periodic cleaning_;
    Periodic evicting_;
    std::jthread following_roles_;
};

}  // namespace tessera
