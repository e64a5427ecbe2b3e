#include "app/workload/submit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/workload/gpu_fit.hpp"
#include "app/workload/half_made.hpp"
#include "domain/training/tensorboard.hpp"

namespace tessera {
namespace {

using workload::Role;
using workload::RoleStatus;
using workload::Training;
using workload::TrainingPod;
using workload::TrainingStatus;
using Print = std::function<void(const std::string&)>;

std::string anchor_text(const Training& job) {
    return (job.backend == workload::Backend::train_job ? "trainingruntime.trainer.kubeflow.org/"
                                                        : "job.batch/") +
           job.anchor();
}

// `is_ours`: `tessera submit` made the job that has the name.
Error exists_already(const Training& job, bool is_ours) {
    if (!is_ours) {
        return {Code::conflict,
                fmt::format("{} exists already in namespace {}, and tessera submit did not make "
                            "it; choose another --name",
                            anchor_text(job), job.ns)};
    }
    return {Code::conflict,
            fmt::format("the training job {0} exists already in namespace {1}; delete it with "
                        "tessera delete {0}, or choose another --name",
                        job.name, job.ns)};
}

// Whether `before` may be what the same command began to make.
bool may_be_begun(const TrainingStatus& before, const Training& job) {
    const std::string files = job.roles.front().pod.files.empty() ? "" : files_name(job);
    return before.arguments == job.arguments && before.files == files && !has_ended(before);
}

// Returns whether anything was missing.
Result<bool> create_owned(Trainings& cluster, const Training& job, const std::string& uid,
                          const Print& print) {
    bool any = false;
    const auto note = [&](bool is_new, const std::string& object) {
        if (is_new) print(object + " created");
        any |= is_new;
    };
    if (!job.roles.front().pod.files.empty()) {
        TRY(const bool is_new, cluster.create_files(job, uid));
        note(is_new, "configmap/" + files_name(job));
    }
    if (!job.shell_secret.empty()) {
        TRY(const bool is_new, cluster.create_secret(job, uid));
        note(is_new, "secret/" + workload::shell_secret_name(job.name));
    }
    if (job.has_service) {
        TRY(const bool is_new, cluster.create_service(job, uid));
        note(is_new, "service/" + job.name);
    }
    for (const Role& role : job.roles) {
        if (&role == &job.roles.front()) continue;
        TRY(const bool is_new, cluster.create_role(job, role, uid));
        note(is_new, "job.batch/" + job.object(role));
    }
    if (job.backend == workload::Backend::train_job) {
        TRY(const bool is_new, cluster.create_train_job(job, uid));
        note(is_new, "trainjob.trainer.kubeflow.org/" + job.name);
    }
    if (job.tensorboard) {
        const std::string name = workload::tensorboard_name(job.name);
        TRY(const bool is_new, cluster.create_tensorboard(job, uid));
        note(is_new, "deployment.apps/" + name);
        TRY(const bool is_new_service, cluster.create_tensorboard_service(job, uid));
        note(is_new_service, "service/" + name);
    }
    return any;
}

Result<> remove_made(Trainings& cluster, const Training& job, const std::string& uid) {
    TrainingStatus made;
    made.name = job.name;
    made.ns = job.ns;
    if (job.backend == workload::Backend::train_job) made.runtime_uid = uid;
    made.roles.push_back(
        {.role = {}, .object = job.object(job.roles.front()), .uid = uid, .gpus = {}, .why = {}});
    return cluster.remove(made);
}

}  // namespace

Result<> create_training(Trainings& cluster, const Training& job, const Print& print,
                         const Print& warn) {
    TRY(const auto jobs, cluster.list(job.ns, job.name));
    if (!jobs.empty()) {
        const TrainingStatus& before = jobs.front();
        if (before.first().is_deleting) return fail(being_deleted("training job", job.name));
        if (!may_be_begun(before, job)) return fail(exists_already(job, true));
        TRY(const bool was_begun, create_owned(cluster, job, before.uid(), print));
        if (!was_begun) return fail(exists_already(job, true));
        return {};
    }
    // A user without the right to list nodes is not warned.
    if (const auto nodes = cluster.nodes()) {
        // All roles that have a share have the same.
        const auto with_gpus = std::ranges::find_if(
            job.roles, [](const Role& role) { return role.pod.gpus != workload::Gpus{}; });
        const std::string text =
            with_gpus == job.roles.end() ? "" : no_gpu_is_large_enough(with_gpus->pod.gpus, *nodes);
        if (!text.empty()) warn(text);
    }
    const auto uid = cluster.create(job);
    if (!uid && uid.error().code == Code::conflict) return fail(exists_already(job, false));
    if (!uid) return fail(uid.error());
    print(anchor_text(job) + " created");
    const auto owned = create_owned(cluster, job, *uid, print);
    if (owned) return {};
    return fail(
        after_failure(owned.error(), "job", [&] { return remove_made(cluster, job, *uid); }));
}

Result<TrainingStatus> find_training(Trainings& cluster, const std::string& ns,
                                     const std::string& name,
                                     std::optional<workload::TrainingType> type) {
    TRY(auto jobs, cluster.list(ns, name));
    std::erase_if(jobs, [&](const TrainingStatus& job) { return type && job.type != *type; });
    if (!jobs.empty()) return std::move(jobs.front());
    return fail(Code::not_found,
                fmt::format("there is no {} {} in namespace {}; tessera list shows those that "
                            "exist",
                            type ? row_of(*type).word : "training job", name, ns));
}

Result<TrainingPod> pod_for_logs(const TrainingStatus& job, const std::string& pod) {
    if (!pod.empty()) {
        const auto named = std::ranges::find(
            job.pods, pod, [](const TrainingPod& one) -> auto& { return one.pod.name; });
        if (named != job.pods.end()) return *named;
        std::string names;
        for (const TrainingPod& one : job.pods)
            names += "\n  " + one.pod.name;
        return fail(Code::not_found, fmt::format("--instance: the job {} has no pod {}; it has:{}",
                                                 job.name, pod, names.empty() ? " none" : names));
    }
    // With --retry a job may go on after a pod has failed.
    const bool has_failed = state_of(job) == workload::TrainingState::failed;
    const auto failed = std::ranges::find_if(
        job.pods, [](const TrainingPod& one) { return one.pod.phase == "Failed"; });
    if (has_failed && failed != job.pods.end()) return *failed;
    if (!job.pods.empty()) return job.pods.front();
    std::string why;
    for (const RoleStatus& role : job.roles)
        why += role.why.empty() ? "" : ": " + role.why;
    return fail(Code::not_found, fmt::format("the job {} has no pod{}", job.name, why));
}

Result<TrainingPod> pod_for_command(const TrainingStatus& job, const std::string& pod) {
    if (!pod.empty()) return pod_for_logs(job, pod);
    const auto runs = std::ranges::find_if(
        job.pods, [](const TrainingPod& one) { return one.pod.phase == "Running"; });
    if (runs != job.pods.end()) return *runs;
    return pod_for_logs(job, pod);
}

}  // namespace tessera
