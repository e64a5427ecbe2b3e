#include "app/workload/prune.hpp"

#include <algorithm>

namespace tessera {
namespace {

using workload::RoleStatus;
using workload::TrainingState;
using workload::TrainingStatus;

bool has_ended(TrainingState state) {
    return state == TrainingState::succeeded || state == TrainingState::failed;
}

bool is_old(const TrainingStatus& job, const PruneRule& rule, std::int64_t now_s) {
    const TrainingState state = state_of(job);
    if (state == TrainingState::running) return false;
    return (has_ended(state) || rule.with_pending) && age_for_prune(job, now_s) >= rule.since_s;
}

// A job waits until all of its pods run, and then some may have trained for long.
bool has_begun(const TrainingStatus& job) {
    return std::ranges::any_of(job.pods, [](const workload::TrainingPod& one) {
        return one.pod.phase == "Running" || one.pod.phase == "Succeeded";
    });
}

}  // namespace

std::int64_t age_for_prune(const TrainingStatus& job, std::int64_t now_s) {
    std::int64_t since = 0;
    if (has_ended(state_of(job))) {
        for (const RoleStatus& role : job.roles)
            since = std::max(since, role.ended_s);
    }
    return now_s - (since == 0 ? job.created_s : since);
}

std::vector<TrainingStatus> jobs_to_prune(std::vector<TrainingStatus> jobs, const PruneRule& rule,
                                          std::int64_t now_s) {
    std::erase_if(jobs, [&](const TrainingStatus& job) {
        const bool waits_in_part = !has_ended(state_of(job)) && has_begun(job);
        return waits_in_part || !is_old(job, rule, now_s);
    });
    return jobs;
}

}  // namespace tessera
