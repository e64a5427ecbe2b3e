// Ends the Jobs of a training job when one of its roles has decided the outcome
// (domain/training/role_end.hpp).
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "app/scheduler/leader/write_fence.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "ports/kube/training_roles.hpp"

namespace tessera {

// All of it outlives its user.
struct TrainingCleanupPorts {
    TrainingRoles& roles;
    WriteFence fence;
};

// Every controller follows the Jobs, and the leader writes. Nothing is remembered: a new leader
// sees from the Jobs what is left to do.
class TrainingCleanup {
  public:
    static constexpr std::chrono::seconds kPeriod{1};

    explicit TrainingCleanup(TrainingCleanupPorts ports) : ports_(std::move(ports)) {}

    // Blocks until `stop`, in its own thread.
    void follow(const std::stop_token& stop);
    // One thread. A role that the API server refuses to end is tried again after a minute; while
    // the API server is away, the rounds do nothing for some seconds.
    void run_round(const std::stop_token& stop);

  private:
    void take(TrainingRoleChanges changes);
    // Empty if nothing has changed since the last call.
    std::vector<workload::TrainingStatus> changed_roles();
    void look_again();
    // Forgets Jobs that are gone.
    void forget_gone();
    // Whether to wait because the job may have succeeded.
    bool waits(const workload::TrainingStatus& job);
    // Unavailable ends the round.
    Result<> end_roles(const workload::TrainingStatus& job, const std::stop_token& stop);
    Result<> end(const workload::TrainingStatus& job, const workload::RoleEnd& role);

    const TrainingCleanupPorts ports_;
    int round_ = 0;
    int next_round_ = 0;                        // the first that does anything
    std::map<std::string, int> failed_since_;   // the round, by the anchor's uid
    std::map<std::string, int> refused_until_;  // the round, by the uid of a Job
    Mutex mutex_;
    std::map<std::string, workload::TrainingStatus> roles_ TESSERA_GUARDED_BY(mutex_);  // by uid
    bool is_changed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
