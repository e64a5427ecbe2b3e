#include "domain/training/training_status.hpp"

#include <algorithm>

namespace tessera::workload {

namespace {

bool is_ours(const TrainingStatus& role) {
    return role.first().object == role.name + "-" + role.first().role;
}

}  // namespace

std::string_view words_of(TrainingState state) {
    switch (state) {
        case TrainingState::queuing:
            return "QUEUING";
        case TrainingState::pending:
            return "PENDING";
        case TrainingState::running:
            return "RUNNING";
        case TrainingState::succeeded:
            return "SUCCEEDED";
        case TrainingState::failed:
            return "FAILED";
    }
    return "";
}

JoinedRoles joined_roles(const std::vector<TrainingStatus>& roles) {
    JoinedRoles jobs;
    for (const TrainingStatus& role : roles) {
        if (!role.first().owner.empty() || !role.first().is_recorded || !is_ours(role)) continue;
        const auto [job, is_new] = jobs.emplace(std::pair(role.ns, role.name), role);
        if (!is_new && role.created_s < job->second.created_s) job->second = role;
    }
    for (const TrainingStatus& role : roles) {
        const auto job = jobs.find({role.ns, role.name});
        if (job == jobs.end() || role.first().owner != job->second.uid()) continue;
        if (is_ours(role)) job->second.roles.push_back(role.first());
    }
    return jobs;
}

void add_job_of_train_job(const TrainingStatus& role, TrainingStatus& job) {
    const RoleStatus& now = role.first();
    RoleStatus& own = job.roles.front();
    const bool is_its_own = role.ns == job.ns && now.object == own.object && !now.owner.empty() &&
                            role.created_s >= job.created_s;
    if (!is_its_own) return;
    own.uid = now.uid;
    own.started_s = now.started_s;
    own.succeeded |= now.succeeded;
    own.failed |= now.failed;
    // The Job names the pod or the rule; the TrainJob only that a Job failed.
    if (!now.why.empty()) own.why = now.why;
    if (now.ended_s > 0) own.ended_s = now.ended_s;
}

TrainingState state_of(const TrainingStatus& job) {
    if (job.first().succeeded) return TrainingState::succeeded;
    if (std::ranges::any_of(job.roles, &RoleStatus::failed)) return TrainingState::failed;
    if (std::ranges::any_of(job.roles, &RoleStatus::suspended)) return TrainingState::queuing;
    int running = 0;
    int wanted = 0;
    for (const RoleStatus& role : job.roles)
        wanted += role.replicas;
    for (const TrainingPod& one : job.pods) {
        if (one.pod.phase == "Running" || one.pod.phase == "Succeeded") ++running;
    }
    return running > 0 && running >= wanted ? TrainingState::running : TrainingState::pending;
}

bool has_ended(const TrainingStatus& job) {
    const TrainingState state = state_of(job);
    return state == TrainingState::succeeded || state == TrainingState::failed;
}

std::int64_t duration_of(const TrainingStatus& job, std::int64_t now_s) {
    const RoleStatus& anchor = job.first();
    if (anchor.started_s == 0) return 0;
    const std::int64_t end_s = anchor.ended_s > 0 ? anchor.ended_s : now_s;
    return std::max<std::int64_t>(end_s - anchor.started_s, 0);
}

}  // namespace tessera::workload
