#include "app/workload/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

using workload::ServingStatus;
using workload::TrainingPod;
using workload::TrainingState;
using workload::TrainingStatus;
using workload::WorkloadPod;

std::string with_namespace(const std::string& ns, const std::string& name, bool namespaces) {
    return namespaces ? ns + "/" + name : name;
}

// The first reason of a pod, such as ": pod train-1: Unschedulable: ..."; empty if there is none.
std::string pod_reason(const WorkloadPod& pod) {
    return pod.why.empty() ? std::string() : fmt::format(": pod {}: {}", pod.name, pod.why);
}

std::string reason_of(const TrainingStatus& job) {
    for (const workload::RoleStatus& role : job.roles) {
        if (!role.why.empty()) return fmt::format(": job {}: {}", role.object, role.why);
    }
    for (const TrainingPod& one : job.pods) {
        if (std::string why = pod_reason(one.pod); !why.empty()) return why;
    }
    return {};
}

std::string reason_of(const ServingStatus& job) {
    if (job.available >= job.desired) return {};
    if (!job.why.empty()) return fmt::format(": deployment {}: {}", job.object, job.why);
    for (const WorkloadPod& pod : job.pods) {
        if (std::string why = pod_reason(pod); !why.empty()) return why;
    }
    return {};
}

}  // namespace

ProgressLine progress_of(const TrainingStatus& job, bool namespaces) {
    int wanted = 0;
    for (const workload::RoleStatus& role : job.roles)
        wanted += role.replicas;
    const TrainingState state = state_of(job);
    std::string text(words_of(state));
    if (state == TrainingState::pending || state == TrainingState::running) {
        const auto running = std::ranges::count_if(
            job.pods, [](const TrainingPod& one) { return one.pod.phase == "Running"; });
        text += fmt::format(" {}/{} pods run", running, wanted);
    }
    if (state == TrainingState::queuing) text += " until its queue admits it";
    if (state == TrainingState::pending || state == TrainingState::failed) text += reason_of(job);
    return {with_namespace(job.ns, job.name, namespaces), std::move(text)};
}

ProgressLine progress_of(const ServingStatus& job, bool namespaces) {
    const std::string name =
        job.id.version.empty() ? job.id.name : job.id.name + " version " + job.id.version;
    std::string text = fmt::format("{}/{} pods are available", job.available, job.desired);
    if (!job.is_settled && job.updated < job.desired)
        text += fmt::format(", {} up to date", job.updated);
    return {with_namespace(job.ns, name, namespaces), text + reason_of(job)};
}

std::vector<std::string> ProgressLines::changes(const std::vector<ProgressLine>& now) {
    std::vector<std::string> out;
    std::map<std::string, std::string> seen;
    for (const ProgressLine& line : now) {
        const auto before = before_.find(line.job);
        if (before == before_.end() || before->second != line.text)
            out.push_back(fmt::format("{}: {}", line.job, line.text));
        seen.emplace(line.job, line.text);
    }
    for (const auto& [job, text] : before_) {
        if (!seen.contains(job)) out.push_back(job + ": is gone");
    }
    before_ = std::move(seen);
    return out;
}

}  // namespace tessera
