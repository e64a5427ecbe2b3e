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
    // One thread. After a write that failed, the next rounds do nothing for a while.
    void run_round(const std::stop_token& stop);

  private:
    void take(TrainingRoleChanges changes);
    // Empty if nothing has changed since the last call.
    std::vector<workload::TrainingStatus> changed_roles();
    // Returns whether all was written.
    bool end_roles(const workload::TrainingStatus& job, const std::stop_token& stop);

    const TrainingCleanupPorts ports_;
    int rounds_to_wait_ = 0;
    Mutex mutex_;
    std::map<std::string, workload::TrainingStatus> roles_ TESSERA_GUARDED_BY(mutex_);  // by uid
    bool is_changed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
