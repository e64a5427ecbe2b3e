// What the cluster has of a training job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/training/training.hpp"
#include "domain/workload/workload_pod.hpp"

namespace tessera::workload {

// As in Arena. QUEUING: Kueue, or a user, has suspended it.
enum class TrainingState { queuing, pending, running, succeeded, failed };

std::string_view words_of(TrainingState state);

// A Job of Kubernetes.
struct RoleStatus {
    std::string role;
    std::string object;  // the Job's name
    std::string uid;
    std::string owner;  // the anchor's uid; empty for the anchor
    int replicas = 0;
    Gpus gpus;                 // of each pod
    bool is_recorded = false;  // it has the words of the command, as the anchor does
    bool suspended = false;
    bool was_ended = false;  // tessera-controller has ended it, or tried to
    bool succeeded = false;
    bool failed = false;
    bool is_deleting = false;    // with all that it owns
    std::string why;             // why it failed, or has no pods; empty if there is nothing to say
    std::int64_t started_s = 0;  // 0: it has not
    std::int64_t ended_s = 0;
    std::int64_t suspended_s = 0;  // since when it is suspended; 0: it is not, or that is unknown
};

struct TrainingPod {
    WorkloadPod pod;
    std::string role;
    int index = 0;
};

struct TrainingStatus {
    std::string name;
    std::string ns;
    TrainingType type = TrainingType::job;
    // The TrainingRuntime of a TrainJob, which owns the job's objects; empty: the first role's Job
    // does.
    std::string runtime_uid;
    std::string train_job_uid;      // empty: it has none yet
    std::vector<RoleStatus> roles;  // the one that decides first; never empty
    bool has_service = false;
    bool has_tensorboard = false;            // was submitted with it
    std::optional<WorkloadPod> tensorboard;  // its pod, in the view of one job, if there is one
    std::int64_t created_s = 0;
    std::string priority;                // the PriorityClass; empty: none
    std::vector<std::string> arguments;  // of `tessera submit`
    std::string files;                   // the ConfigMap with its files; empty: none
    CleanPolicy clean = CleanPolicy::none;
    std::vector<TrainingPod> pods;  // by role, as above, and index; the first one is the chief

    [[nodiscard]] const RoleStatus& first() const { return roles.front(); }
    // Of the object that owns the others.
    [[nodiscard]] const std::string& uid() const {
        return runtime_uid.empty() ? first().uid : runtime_uid;
    }
    // In which the command runs, in each pod.
    [[nodiscard]] std::string_view container() const {
        return runtime_uid.empty() ? row_of(type).container : kTrainJobContainer;
    }
};

// By namespace and name.
using JoinedRoles = std::map<std::pair<std::string, std::string>, TrainingStatus>;

// From training jobs of one role each: the anchors with the roles that they own. Of several anchors
// with one name the oldest counts. Left out are roles of a job that was deleted, and Jobs that only
// have our labels: their names are not those that we give.
JoinedRoles joined_roles(const std::vector<TrainingStatus>& roles);

// Adds what the Job of a TrainJob says; nothing of another one.
void add_job_of_train_job(const TrainingStatus& role, TrainingStatus& job);

// The anchor's Job decides that a job succeeded, and any Job that it failed. A job of which a pod
// waits is pending.
TrainingState state_of(const TrainingStatus& job);

// Whether it has succeeded or failed.
bool has_ended(const TrainingStatus& job);

// Seconds that it ran up to `now_s`; 0 if it has not started.
std::int64_t duration_of(const TrainingStatus& job, std::int64_t now_s);

}  // namespace tessera::workload
