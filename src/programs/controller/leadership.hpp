// The controller's leader election. Without a Lease, the controller always leads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "adapters/kube/kube_lease_store.hpp"
#include "app/scheduler/informers/informers.hpp"
#include "app/scheduler/leader/election.hpp"
#include "app/scheduler/leader/own_scheduler.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "programs/service/object_name.hpp"

namespace tessera {

// Both empty: no election.
using LeaseName = ObjectName;

struct LeadershipOptions {
    LeaseName lease;
    // Of kube-scheduler, if each replica has one beside it; then `identity` is the pod's host name.
    LeaseName scheduler_lease;
    std::string identity;  // unique among the replicas that run; empty: one is generated
    std::string url;       // where this replica answers
};

class Leadership {
  public:
    Leadership(HttpClient& api, Clock& clock, const LeadershipOptions& options);

    Leadership(const Leadership&) = delete;
    Leadership& operator=(const Leadership&) = delete;

    // Null if there is no election.
    [[nodiscard]] const Election* election() const { return election_.get(); }
    [[nodiscard]] WriteFence fence() const;

    // In scheduler mode, returns when this replica leads, after some seconds, or on `stop`;
    // otherwise at once. To call before a filter request of kube-scheduler is answered:
    // kube-scheduler asks the controller beside it, which follows it to the lead a moment later.
    // Binds before that would be refused, and kube-scheduler would delay those pods for up to ten
    // seconds. It filters one pod at a time, so no more than one thread waits.
    void wait_to_lead(const std::stop_token& stop) const;

    // `informers` outlives end().
    void begin(Informers& informers);
    // Releases the Lease. No write may be in progress.
    void end() { thread_ = {}; }

  private:
    std::unique_ptr<KubeLeaseStore> store_;
    std::unique_ptr<KubeLeaseStore> scheduler_store_;
    std::optional<OwnScheduler> scheduler_;
    std::shared_ptr<Election> election_;
    Informers* informers_ = nullptr;
    std::jthread thread_;
};

}  // namespace tessera
