// Training jobs (`tessera submit`): one Job of Kubernetes for each role, and a headless Service by
// which their pods find each other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/workload/pod_template.hpp"

namespace tessera::workload {

enum class TrainingType { tensorflow, pytorch, mpi, job };

struct TrainingTypeRow {
    TrainingType type;
    std::string_view command;  // of `tessera submit`
    std::string_view alias;    // empty: none
    std::string_view word;     // the value of --type, of the label and in JSON, as in Arena
    std::string_view title;    // in tables
    std::string_view container;
};

inline constexpr auto kTrainingTypes = std::to_array<TrainingTypeRow>({
    {TrainingType::tensorflow, "tf", "tfjob", "tfjob", "TFJOB", "tensorflow"},
    {TrainingType::pytorch, "pytorch", "pytorchjob", "pytorchjob", "PYTORCHJOB", "pytorch"},
    {TrainingType::mpi, "mpi", "mpijob", "mpijob", "MPIJOB", "mpi"},
    {TrainingType::job, "job", "", "job", "JOB", "main"},
});

const TrainingTypeRow& row_of(TrainingType type);
// By the command, its alias or the word. invalid_argument lists them.
Result<TrainingType> parse_training_type(std::string_view text);

// Whether pods of one role run on one node.
struct RoleAffinity {
    bool anti = false;      // each on a node of its own; otherwise all on one
    bool required = false;  // or else a pod waits; otherwise other nodes are accepted, too

    friend bool operator==(const RoleAffinity&, const RoleAffinity&) = default;
};

// Pods that run the same program. Pod I is in the Job's completion index I.
struct Role {
    std::string name;  // worker, chief, ps, evaluator, launcher
    int replicas = 1;
    PodTemplate pod;
    // The Job is complete when its first pod has succeeded; otherwise when all have.
    bool first_decides = false;
    std::optional<RoleAffinity> affinity = {};
};

// What happens to the Jobs of the other roles when one role has decided the outcome. As in Arena.
enum class CleanPolicy {
    running,  // their pods are ended
    none,     // they go on
    all,      // the Jobs are deleted, with the pods that have ended and their logs
};

struct CleanPolicyRow {
    CleanPolicy policy;
    std::string_view word;
};

inline constexpr auto kCleanPolicies = std::to_array<CleanPolicyRow>({
    {CleanPolicy::running, "Running"},
    {CleanPolicy::none, "None"},
    {CleanPolicy::all, "All"},
});

std::string_view word_of(CleanPolicy policy);
// Empty if there is no such policy.
std::optional<CleanPolicy> parse_clean_policy(std::string_view text);

// What makes the pods.
enum class Backend {
    jobs,  // a Job for each role
    // A TrainJob of Kubeflow Trainer, which has one role: Trainer makes a JobSet of it, and that a
    // Job. Its TrainingRuntime has the pods.
    train_job,
};

// The name of the Job that a TrainJob has: of its JobSet, the replicated job `node`, and number 0.
std::string train_job_object(std::string_view name);
// The label by which Kueue admits a Job or TrainJob, with the name of a queue.
inline constexpr std::string_view kKueueQueueLabel = "kueue.x-k8s.io/queue-name";

inline constexpr std::string_view kTrainJobContainer = "node";

struct BackendRow {
    Backend backend;
    std::string_view word;  // the value of --backend
};

inline constexpr auto kBackends = std::to_array<BackendRow>({
    {Backend::jobs, "job"},
    {Backend::train_job, "trainjob"},
});

// Empty if there is no such backend.
std::optional<Backend> parse_backend(std::string_view text);

struct Training {
    std::string name;
    std::string ns;
    TrainingType type = TrainingType::job;
    Backend backend = Backend::jobs;
    // The first role decides the outcome.
    std::vector<Role> roles;
    bool has_service = false;  // the headless Service, of the job's name
    std::optional<PodTemplate> tensorboard;
    int retries = 0;
    std::int64_t deadline_s = 0;  // 0: none
    std::int64_t ttl_s = -1;      // seconds from the end to the deletion; below 0: never
    CleanPolicy clean = CleanPolicy::running;
    // What tessera-mpi-shell proves itself with; empty: the job has none. It goes into a Secret.
    std::string shell_secret;
    std::string queue;  // of Kueue: the job is created suspended; empty: none
    std::vector<std::string> arguments;

    // The name of a role's Job.
    [[nodiscard]] std::string object(const Role& role) const {
        return backend == Backend::train_job ? train_job_object(name) : name + "-" + role.name;
    }
    // The name of the anchor, which owns the other objects: the first role's Job, or the
    // TrainingRuntime.
    [[nodiscard]] std::string anchor() const {
        return backend == Backend::train_job ? name : object(roles.front());
    }
};

// As files_name() of pod_template.hpp. All roles have the same files.
std::string files_name(const Training& job);

// The name of the Secret of `shell_secret`.
std::string shell_secret_name(std::string_view job);

// A TrainJob has fewer features than Jobs. invalid_argument names the flag and the fix.
Result<> check_train_job(const Training& job);

// A name with which the host names of all pods are legal.
Result<> check_training_name(std::string_view name);

}  // namespace tessera::workload
