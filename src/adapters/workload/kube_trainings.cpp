#include "adapters/workload/kube_trainings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>
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
// Until Trainer's webhook has heard of a new TrainingRuntime, and how often to try.
constexpr std::chrono::seconds kTrainerSees{10};
constexpr std::chrono::milliseconds kTrainerPoll{200};

// Reads each object of a kind that belongs to training jobs.
using EachOfKind = std::function<Result<>(const ObjectKind&, const ReadItem&)>;

Anchor anchor_of(const Training& job, const std::string& uid) {
    return {job.anchor(), uid};
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
void add_refusal(HttpClient& http, const std::string& ns, const std::string& uid,
                 std::string_view reason, RoleStatus& role) {
    const std::string path =
        fmt::format("/api/v1/namespaces/{}/events?fieldSelector=involvedObject.uid%3D{}", ns, uid);
    const auto body = kube_call(http, {.method = "GET", .path = path}, kDeadline);
    if (!body) return;
    const auto document = JsonDocument::parse(*body);
    if (!document) return;
    for (const JsonValue event : document->root()["items"].elements()) {
        if (event["reason"].text_or("") == reason) role.why = event["message"].text_or("");
    }
}

// Why a TrainJob has no Job.
void add_trainer_fault(HttpClient& http, const TrainingStatus& job, RoleStatus& role) {
    if (job.train_job_uid.empty()) {
        role.why = "its TrainJob is missing: repeat the command, or delete the job";
        return;
    }
    role.why = "Kubeflow Trainer has not made its Job yet";
    add_refusal(http, job.ns, job.train_job_uid, "TrainJobResourcesCreationFailed", role);
}

void add_refusals(HttpClient& http, TrainingStatus& job) {
    for (RoleStatus& role : job.roles) {
        const auto pods = std::ranges::count(job.pods, role.role, &workload::TrainingPod::role);
        const bool has_ended = role.succeeded || role.failed || role.suspended;
        if (has_ended || pods >= role.replicas) continue;
        if (role.uid.empty()) {
            add_trainer_fault(http, job, role);
        } else {
            add_refusal(http, job.ns, role.uid, "FailedCreate", role);
        }
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

// Trainer takes the end of any JobSet of the name for that of the TrainJob. The Job goes after its
// JobSet.
Result<> wait_for_earlier_job(HttpClient& http, const Training& job) {
    const std::string name = job.object(job.roles.front());
    const auto end = std::chrono::steady_clock::now() + kGone;
    while (true) {
        TRY(const auto earlier, read_object(http, kJobs, job.ns, name));
        if (!earlier) return {};
        if (std::chrono::steady_clock::now() > end)
            return fail(held_by_another(kJobs, job.ns, name));
        std::this_thread::sleep_for(kGonePoll);
    }
}

// JobSet uses any Service of the name, by which the pods would not find each other.
Result<> check_service(HttpClient& http, const Training& job) {
    if (job.roles.front().pod.subdomain.empty()) return {};
    TRY(const auto service, read_object(http, kServices, job.ns, job.name));
    if (!service) return {};
    const JsonValue metadata = service->root()["metadata"];
    const auto owners = metadata["ownerReferences"].elements();
    const bool is_of_job_set = std::ranges::any_of(
        owners, [](JsonValue owner) { return owner["kind"].text_or("") == "JobSet"; });
    if (is_of_job_set || metadata["deletionTimestamp"].present()) return {};
    return fail(held_by_another(kServices, job.ns, job.name));
}

// The API server does not know the kind, or the group, in any namespace.
bool is_unknown_kind(const Error& error) {
    const auto says = [&](const char* text) { return error.text.find(text) != std::string::npos; };
    return error.code == Code::not_found &&
           (says("could not find the requested resource") || says("404 page not found"));
}

// The jobs that Kubeflow Trainer runs, with what the Jobs in `roles` say of them. Without Trainer,
// or the right to list its objects, there are none.
Result<> add_train_jobs(const EachOfKind& each, const std::vector<TrainingStatus>& roles,
                        workload::JoinedRoles& jobs) {
    workload::JoinedRoles found;
    auto read = each(kTrainingRuntimes, [&](JsonValue json) {
        if (const auto job = workload::read_training_runtime(json))
            found.emplace(std::pair(job->ns, job->name), *job);
    });
    if (!read && read.error().code != Code::not_found &&
        read.error().code != Code::permission_denied)
        return read;
    if (found.empty()) return {};
    auto ran = each(kTrainJobs, [&](JsonValue json) {
        if (const auto job = found.find(key_of(json)); job != found.end())
            workload::read_train_job(json, job->second);
    });
    if (!ran && ran.error().code == Code::permission_denied) return {};
    if (!ran) return ran;
    for (const TrainingStatus& role : roles) {
        if (const auto job = found.find({role.ns, role.name}); job != found.end())
            add_job_of_train_job(role, job->second);
    }
    jobs.merge(found);
    return {};
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
    TRY_VOID(add_train_jobs(each, roles, jobs));
    TRY_VOID(each(kServices, [&](JsonValue json) {
        const auto at = jobs.find(key_of(json));
        if (at != jobs.end() && workload::is_owned_by(json, at->second.uid()))
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
    if (job.backend == workload::Backend::train_job) {
        // Nothing checks the pods of a TrainingRuntime, and JobSet reports no refusal of its Job.
        const auto checked =
            kube_post(http_, path_of(kJobs, job.ns) + "?dryRun=All",
                      workload::write_training_role(job, job.roles.front(), ""), kDeadline);
        if (!checked && checked.error().code != Code::conflict)
            return fail(with_right(checked.error(), "create", kJobs, job.ns));
        auto made = create_anchor(http_, kTrainingRuntimes, job.ns, job.anchor(),
                                  workload::write_training_runtime(job));
        if (made || !is_unknown_kind(made.error())) return made;
        return fail(Code::not_found,
                    "--backend: the cluster has no Kubeflow Trainer (trainer.kubeflow.org/"
                    "v1alpha1); leave it out");
    }
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

Result<bool> KubeTrainings::create_train_job(const Training& job, const std::string& owner) {
    TRY(const auto begun, read_object(http_, kTrainJobs, job.ns, job.name));
    if (!begun) {
        TRY_VOID(wait_for_earlier_job(http_, job));
        TRY_VOID(check_service(http_, job));
    }
    const std::string object = workload::write_train_job(job, owner);
    const auto end = std::chrono::steady_clock::now() + kTrainerSees;
    while (true) {
        auto made =
            create_owned(http_, kTrainJobs, job.ns, job.name, object, anchor_of(job, owner));
        const bool is_early =
            !made &&
            made.error().text.find("must be created before the TrainJob") != std::string::npos;
        if (!is_early || std::chrono::steady_clock::now() > end) return made;
        std::this_thread::sleep_for(kTrainerPoll);
    }
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
    if (job.runtime_uid.empty())
        return delete_object(http_, kJobs, job.ns, job.first().object, job.uid());
    // Trainer keeps a runtime for as long as there is a TrainJob of it.
    if (!job.train_job_uid.empty()) {
        const auto done = delete_object(http_, kTrainJobs, job.ns, job.name, job.train_job_uid);
        if (!done && done.error().code != Code::not_found) return done;
    } else {
        TRY_VOID(remove_owned(http_, kTrainJobs, job.ns, job.name, job.runtime_uid));
    }
    return delete_object(http_, kTrainingRuntimes, job.ns, job.name, job.uid());
}

Result<std::vector<NodeInventory>> KubeTrainings::nodes() {
    return read_nodes(http_);
}

}  // namespace tessera
