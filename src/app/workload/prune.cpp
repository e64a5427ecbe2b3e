#include "app/workload/prune.hpp"

#include <algorithm>

namespace tessera {
namespace {

using workload::RoleStatus;
using workload::TrainingPod;
using workload::TrainingState;
using workload::TrainingStatus;

bool is_any_pod(const TrainingStatus& job, bool (*is)(const TrainingPod&)) {
    return std::ranges::any_of(job.pods, is);
}

bool runs(const TrainingPod& one) {
    return one.pod.phase == "Running";
}

bool has_begun(const TrainingPod& one) {
    return one.pod.phase != "Pending";
}

std::int64_t end_of(const TrainingStatus& job) {
    std::int64_t end = 0;
    for (const RoleStatus& role : job.roles)
        end = std::max(end, role.ended_s);
    return end;
}

std::int64_t waits_since(const TrainingStatus& job) {
    std::int64_t since = job.created_s;
    for (const RoleStatus& role : job.roles)
        since = std::max(since, role.suspended_s);
    for (const TrainingPod& one : job.pods)
        since = std::max(since, one.pod.created_s);
    return since;
}

bool may_go(const TrainingStatus& job, const PruneRule& rule) {
    // After the end of one role, pods of another may still run.
    if (state_of(job) == TrainingState::running || is_any_pod(job, runs)) return false;
    return has_ended(job) || (rule.with_pending && !is_any_pod(job, has_begun));
}

}  // namespace

std::int64_t age_for_prune(const TrainingStatus& job, std::int64_t now_s) {
    if (!has_ended(job)) return now_s - waits_since(job);
    // Without a time, its last pods are about to end.
    const std::int64_t end = end_of(job);
    return end == 0 ? 0 : now_s - end;
}

std::vector<TrainingStatus> jobs_to_prune(std::vector<TrainingStatus> jobs, const PruneRule& rule,
                                          std::int64_t now_s) {
    std::erase_if(jobs, [&](const TrainingStatus& job) {
        return !may_go(job, rule) || age_for_prune(job, now_s) < rule.since_s;
    });
    return jobs;
}

}  // namespace tessera
