#include "wire/workload/training_status_json.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/quantity.hpp"
#include "wire/text/utc_time.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/training_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kIndexAnnotation = "batch.kubernetes.io/job-completion-index";

// As the anchor records it, see given_flags() of the command line.
constexpr std::string_view kTensorboardFlag = "--tensorboard=true";

std::int64_t time_of(JsonValue time) {
    return rfc3339_seconds(time.text_or("")).value_or(0);
}

std::string owner_of(JsonValue metadata) {
    const auto owners = metadata["ownerReferences"].elements();
    return owners.empty() ? std::string() : owners.front()["uid"].text_or("");
}

// Sets what the conditions of the Job say. FailureTarget and SuccessCriteriaMet come before the
// final ones: as long as its other pods have not ended.
void read_conditions(JsonValue status, RoleStatus& role) {
    for (const JsonValue condition : status["conditions"].elements()) {
        if (condition["status"].text_or("") != "True") continue;
        const std::string type = condition["type"].text_or("");
        if (type == "Complete" || type == "SuccessCriteriaMet") role.succeeded = true;
        if (type == "Failed" || type == "FailureTarget") {
            role.failed = true;
            role.why = condition["message"].text_or("");
        }
        const std::int64_t since_s = time_of(condition["lastTransitionTime"]);
        if (type == "Complete" || type == "Failed") role.ended_s = since_s;
        if (type == "Suspended") role.suspended_s = since_s;
    }
}

std::string files_of(JsonValue pod) {
    for (const JsonValue volume : pod["volumes"].elements()) {
        if (volume["name"].text_or("") == kFilesVolume)
            return volume["configMap"]["name"].text_or("");
    }
    return {};
}

// What the metadata of the anchor, or of a role's Job, and its pods say. Nothing if it is none.
std::optional<TrainingStatus> read_head(JsonValue object, JsonValue pod) {
    const JsonValue metadata = object["metadata"];
    const auto type = parse_training_type(metadata["labels"][kJobTypeLabel].text_or(""));
    if (!type) return std::nullopt;
    TrainingStatus out;
    out.name = metadata["labels"][kJobNameLabel].text_or("");
    out.ns = metadata["namespace"].text_or("");
    out.type = *type;
    out.created_s = read_created(object);
    out.arguments = read_arguments(metadata["annotations"][kCommandAnnotation].text_or(""));
    out.has_tensorboard = std::ranges::find(out.arguments, kTensorboardFlag) != out.arguments.end();
    out.priority = pod["priorityClassName"].text_or("");
    out.files = files_of(pod);
    return out;
}

Gpus gpus_of(JsonValue pod) {
    const auto containers = pod["containers"].elements();
    return containers.empty() ? Gpus() : read_gpus(containers.front()["resources"]["limits"]);
}

}  // namespace

std::optional<TrainingStatus> read_training_role(JsonValue job) {
    const JsonValue metadata = job["metadata"];
    const JsonValue spec = job["spec"];
    const JsonValue pod = spec["template"]["spec"];
    auto head = read_head(job, pod);
    if (!head) return std::nullopt;
    TrainingStatus out = *std::move(head);
    out.clean = parse_clean_policy(metadata["labels"][kCleanPolicyLabel].text_or(""))
                    .value_or(CleanPolicy::none);
    RoleStatus role{.role = metadata["labels"][kJobRoleLabel].text_or(""),
                    .object = metadata["name"].text_or(""),
                    .uid = metadata["uid"].text_or(""),
                    .owner = owner_of(metadata),
                    .replicas = read_count(spec["completions"]),
                    .gpus = gpus_of(pod),
                    .suspended = spec["suspend"].is_true(),
                    .is_deleting = metadata["deletionTimestamp"].present(),
                    .why = {},
                    .started_s = time_of(job["status"]["startTime"])};
    read_conditions(job["status"], role);
    role.is_recorded = metadata["annotations"][kCommandAnnotation].present();
    // Kubernetes' own reason would be a deadline.
    const std::string ended = metadata["annotations"][kEndedAnnotation].text_or("");
    role.was_ended = !ended.empty();
    if (role.was_ended) role.why = "it was ended, because " + ended;
    out.roles.push_back(std::move(role));
    return out;
}

std::optional<TrainingStatus> read_training_runtime(JsonValue runtime) {
    const JsonValue metadata = runtime["metadata"];
    const auto jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].elements();
    if (jobs.size() != 1 || !metadata["annotations"][kCommandAnnotation].present())
        return std::nullopt;
    const JsonValue pod = jobs.front()["template"]["spec"]["template"]["spec"];
    auto out = read_head(runtime, pod);
    if (!out || out->name != metadata["name"].text_or("")) return std::nullopt;
    out->runtime_uid = metadata["uid"].text_or("");
    out->roles.push_back({.role = metadata["labels"][kJobRoleLabel].text_or(""),
                          .object = train_job_object(out->name),
                          .uid = {},
                          .owner = {},
                          .replicas = read_count(runtime["spec"]["mlPolicy"]["numNodes"]),
                          .gpus = gpus_of(pod),
                          .is_recorded = true,
                          .is_deleting = metadata["deletionTimestamp"].present(),
                          .why = {}});
    return out;
}

void read_train_job(JsonValue train_job, TrainingStatus& job) {
    // Not by its owner: one that a user applied has none, and Trainer keeps the runtime for it,
    // too.
    const JsonValue runtime = train_job["spec"]["runtimeRef"];
    if (train_job["metadata"]["name"].text_or("") != job.name ||
        runtime["name"].text_or("") != job.name || runtime["kind"].text_or("") != "TrainingRuntime")
        return;
    RoleStatus& role = job.roles.front();
    job.train_job_uid = train_job["metadata"]["uid"].text_or("");
    role.suspended = train_job["spec"]["suspend"].is_true();
    read_conditions(train_job["status"], role);
}

std::string read_training_of(JsonValue object) {
    return object["metadata"]["labels"][kJobNameLabel].text_or("");
}

TrainingPod read_training_pod(JsonValue pod) {
    const JsonValue metadata = pod["metadata"];
    const auto index = parse_whole_quantity(metadata["annotations"][kIndexAnnotation].text_or("0"));
    return {.pod = read_workload_pod(pod),
            .role = metadata["labels"][kJobRoleLabel].text_or(""),
            .index = index && *index >= 0 && *index < 1'000'000 ? static_cast<int>(*index) : 0};
}

void sort_pods(TrainingStatus& job) {
    const auto place_of = [&](const TrainingPod& one) {
        return std::ranges::find(job.roles, one.role, &RoleStatus::role) - job.roles.begin();
    };
    // Of several pods with one index the newest is first: the others have failed.
    std::ranges::sort(job.pods, {}, [&](const TrainingPod& one) {
        return std::tuple(place_of(one), one.index, -one.pod.created_s, one.pod.name);
    });
}

}  // namespace tessera::workload
