// What the controller that leads does beside answering kube-scheduler: it evicts pods for pods of
// higher priority, nominates pods ahead of their turn, answers resize requests, and reports unknown
// annotations. Each is a thread.
#pragma once

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_evictions.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/kube/kube_pod_resizes.hpp"
#include "app/common/periodic.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/nomination/nominator.hpp"
#include "app/scheduler/observe/unknown_annotation_reporter.hpp"
#include "app/scheduler/resize/resizer.hpp"
#include "app/scheduler/self_preemption/self_preemption.hpp"

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
          preemption_({evictions_, with.cache, with.metrics, with.clock, with.fence}),
          nominator_({evictions_, with.cache, with.metrics, with.clock, with.fence, with.policies,
                      with.nominations.schedulers, with.nominations.from_nodes,
                      with.nominations.skip}),
          resizer_(
              {resizes_, events_, with.cache, with.metrics, with.clock, with.seal, with.fence}),
          reporter_({events_, with.cache, with.fence}),
          preempting_(with.clock, SelfPreemption::kPeriod,
                      [this](const std::stop_token& stop) { preemption_.run_round(stop); }),
          nominating_(with.clock, nominator_.period(),
                      [this](const std::stop_token& stop) { nominator_.run_round(stop); }),
          resizing_(with.clock, Resizer::kPeriod,
                    [this](const std::stop_token& stop) { resizer_.run_round(stop); }),
          reporting_(with.clock, UnknownAnnotationReporter::kPeriod,
                     [this](const std::stop_token&) { reporter_.run_round(); }) {}

    LeaderTasks(const LeaderTasks&) = delete;
    LeaderTasks& operator=(const LeaderTasks&) = delete;

    [[nodiscard]] SelfPreemption& preemption() { return preemption_; }
    [[nodiscard]] Nominator& nominator() { return nominator_; }

    void start(bool preempts) {
        if (preempts) preempting_.start();
        nominating_.start();
        resizing_.start();
        reporting_.start();
    }
    // Nothing is written after this returns.
    void stop() {
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
    SelfPreemption preemption_;
    Nominator nominator_;
    Resizer resizer_;
    UnknownAnnotationReporter reporter_;
    Periodic preempting_;
    Periodic nominating_;
    Periodic resizing_;
    Periodic reporting_;
};

}  // namespace tessera
