#include "adapters/workload/kube_trainings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "domain/training/tensorboard.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/tensorboard_json.hpp"
#include "wire/workload/training_json.hpp"
#include "wire/workload/training_status_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera {

using workload::Training;
using workload::TrainingStatus;

namespace {

using workload::RoleStatus;

constexpr std::chrono::milliseconds kDeadline{10'000};

Anchor anchor_of(const Training& job, const std::string& uid) {
    return {job.object(job.roles.front()), uid};
}

std::pair<std::string, std::string> key_of(JsonValue object) {
    return {object["metadata"]["namespace"].text_or(""), workload::read_training_of(object)};
}

bool is_of(JsonValue pod, const TrainingStatus& job) {
    return std::ranges::any_of(
        job.roles, [&](const RoleStatus& role) { return workload::is_owned_by(pod, role.uid); });
}

// Why a Job has no pods: a quota, a webhook or a PriorityClass that does not exist refuses them,
// which only events say. A user without the right to list events sees nothing of it.
void add_refusal(HttpClient& http, const std::string& ns, RoleStatus& role) {
    const std::string path = fmt::format(
        "/api/v1/namespaces/{}/events?fieldSelector=involvedObject.uid%3D{}", ns, role.uid);
    const auto body = kube_call(http, {.method = "GET", .path = path}, kDeadline);
    if (!body) return;
    const auto document = JsonDocument::parse(*body);
    if (!document) return;
    for (const JsonValue event : document->root()["items"].elements()) {
        if (event["reason"].text_or("") == "FailedCreate") role.why = event["message"].text_or("");
    }
}

void add_refusals(HttpClient& http, TrainingStatus& job) {
    for (RoleStatus& role : job.roles) {
        const auto pods = std::ranges::count(job.pods, role.role, &workload::TrainingPod::role);
        const bool has_ended = role.succeeded || role.failed || role.suspended;
        if (!has_ended && pods < role.replicas) add_refusal(http, job.ns, role);
    }
}

// The newest pod of the job's TensorBoard. A pod of an earlier job of this name does not count.
Result<> add_tensorboard_pod(HttpClient& http, TrainingStatus& job) {
    return each_labelled(
        http, kPods, job.ns, workload::kTensorboardLabel, job.name, [&](JsonValue json) {
            workload::WorkloadPod pod = workload::read_workload_pod(json);
            // One that ends counts only while there is no other.
            const auto rank = [](const workload::WorkloadPod& one) {
                return std::pair(one.status != "Terminating", one.created_s);
            };
            const bool is_of_job = pod.created_s >= job.created_s;
            const bool is_newer = !job.tensorboard || rank(*job.tensorboard) < rank(pod);
            if (is_of_job && is_newer) job.tensorboard = std::move(pod);
        });
}

}  // namespace

Result<std::vector<TrainingStatus>> KubeTrainings::list(const std::string& ns,
                                                        const std::string& name) {
    const auto each = [&](const ObjectKind& kind, const ReadItem& read) {
        return each_labelled(http_, kind, ns, workload::kJobNameLabel, name, read);
    };
    std::vector<TrainingStatus> roles;
    TRY_VOID(each(kJobs, [&](JsonValue json) {
        if (auto role = workload::read_training_role(json)) roles.push_back(*std::move(role));
    }));
    auto jobs = joined_roles(roles);
    TRY_VOID(each(kServices, [&](JsonValue json) {
        const auto at = jobs.find(key_of(json));
        if (at != jobs.end() && workload::is_owned_by(json, at->second.anchor().uid))
            at->second.has_service = true;
    }));
    TRY_VOID(each(kPods, [&](JsonValue json) {
        const auto at = jobs.find(key_of(json));
        if (at != jobs.end() && is_of(json, at->second))
            at->second.pods.push_back(workload::read_training_pod(json));
    }));
    std::vector<TrainingStatus> out;
    out.reserve(jobs.size());
    for (auto& [key, job] : jobs) {
        workload::sort_pods(job);
        if (!name.empty()) add_refusals(http_, job);
        if (!name.empty() && job.has_tensorboard) TRY_VOID(add_tensorboard_pod(http_, job));
        out.push_back(std::move(job));
    }
    return out;
}

Result<std::string> KubeTrainings::create(const Training& job) {
    const workload::Role& first = job.roles.front();
    return create_anchor(http_, kJobs, job.ns, job.object(first),
                         workload::write_training_role(job, first, ""));
}

Result<bool> KubeTrainings::create_service(const Training& job, const std::string& owner) {
    return create_owned(http_, kServices, job.ns, job.name,
                        workload::write_training_service(job, owner), anchor_of(job, owner));
}

Result<bool> KubeTrainings::create_files(const Training& job, const std::string& owner) {
    return create_owned(http_, kConfigMaps, job.ns, files_name(job),
                        workload::write_training_files(job, owner), anchor_of(job, owner));
}

Result<bool> KubeTrainings::create_secret(const Training& job, const std::string& owner) {
    return create_owned(http_, kSecrets, job.ns, workload::shell_secret_name(job.name),
                        workload::write_training_secret(job, owner), anchor_of(job, owner));
}

Result<bool> KubeTrainings::create_role(const Training& job, const workload::Role& role,
                                        const std::string& owner) {
    return create_owned(http_, kJobs, job.ns, job.object(role),
                        workload::write_training_role(job, role, owner), anchor_of(job, owner));
}

Result<bool> KubeTrainings::create_tensorboard(const Training& job, const std::string& owner) {
    return create_owned(http_, kDeployments, job.ns, workload::tensorboard_name(job.name),
                        workload::write_tensorboard_deployment(job, owner), anchor_of(job, owner));
}

Result<bool> KubeTrainings::create_tensorboard_service(const Training& job,
                                                       const std::string& owner) {
    return create_owned(http_, kServices, job.ns, workload::tensorboard_name(job.name),
                        workload::write_tensorboard_service(job, owner), anchor_of(job, owner));
}

Result<> KubeTrainings::remove(const TrainingStatus& job) {
    return delete_object(http_, kJobs, job.ns, job.anchor().object, job.anchor().uid);
}

Result<std::vector<NodeInventory>> KubeTrainings::nodes() {
    return read_nodes(http_);
}

}  // namespace tessera
