#include "wire/workload/training_json.hpp"

#include "domain/training/mpi_paths.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kTrainerGroup = "trainer.kubeflow.org";
constexpr std::string_view kTrainerApi = "trainer.kubeflow.org/v1alpha1";

StringMap labels_of(const Training& job) {
    const std::string word(row_of(job.type).word);
    return {{std::string(kAppLabel), word},
            {std::string(kInstanceLabel), job.name},
            {std::string(kManagedByLabel), std::string(kTessera)},
            {std::string(kJobNameLabel), job.name},
            {std::string(kJobTypeLabel), word}};
}

StringMap labels_of(const Training& job, const Role& role) {
    StringMap out = labels_of(job);
    out.emplace(kJobRoleLabel, role.name);
    return out;
}

PodTemplate pod_of(const Training& job, const Role& role) {
    PodTemplate pod = role.pod;
    if (!role.affinity) return pod;
    pod.affinity = {
        .labels = {{std::string(kJobNameLabel), job.name}, {std::string(kJobRoleLabel), role.name}},
        .anti = role.affinity->anti,
        .required = role.affinity->required};
    return pod;
}

// Preemption and drains do not count as failures of the program.
void write_failure_policy(JsonWriter& w) {
    w.object("podFailurePolicy", [&] {
        w.array("rules", [&] {
            w.object([&] {
                w.member("action", "Ignore");
                w.array("onPodConditions", [&] {
                    w.object([&] {
                        w.member("type", "DisruptionTarget");
                        w.member("status", "True");
                    });
                });
            });
        });
    });
}

void write_spec(JsonWriter& w, const Training& job, const Role& role) {
    w.member("completions", role.replicas);
    w.member("parallelism", role.replicas);
    w.member("completionMode", "Indexed");
    w.member("backoffLimit", job.retries);
    if (job.deadline_s > 0) w.member("activeDeadlineSeconds", job.deadline_s);
    // The deletion of the anchor takes the others with it.
    const bool is_anchor = &role == &job.roles.front();
    if (is_anchor && job.ttl_s >= 0) w.member("ttlSecondsAfterFinished", job.ttl_s);
    if (!job.queue.empty() && job.backend == Backend::jobs) w.member("suspend", true);
    write_failure_policy(w);
    if (role.first_decides) {
        w.object("successPolicy", [&] {
            w.array("rules", [&] { w.object([&] { w.member("succeededIndexes", "0"); }); });
        });
    }
    w.object("template", [&] {
        write_pod_template(w, pod_of(job, role), labels_of(job, role), files_name(job));
    });
}

// The Job that Trainer makes by way of a JobSet. Trainer sets its numbers of pods.
void write_replicated_job(JsonWriter& w, const Training& job) {
    const Role& role = job.roles.front();
    StringMap labels = joined(labels_of(job, role), role.pod.labels);
    labels.insert_or_assign("trainer.kubeflow.org/trainjob-ancestor-step", "trainer");
    w.member("name", kTrainJobContainer);
    w.member("replicas", 1);
    w.object("template", [&] {
        w.object("metadata", [&] { write_map(w, "labels", labels); });
        w.object("spec", [&] { write_spec(w, job, role); });
    });
}

}  // namespace

Owner owner_of(const Training& job, std::string_view anchor, std::string_view uid) {
    if (job.backend == Backend::train_job)
        return {.api = kTrainerApi, .kind = "TrainingRuntime", .name = anchor, .uid = uid};
    return {.api = "batch/v1", .kind = "Job", .name = anchor, .uid = uid};
}

std::string write_training_runtime(const Training& job) {
    JsonWriter w;
    w.object([&] {
        const Role& role = job.roles.front();
        const std::string name = job.anchor();
        StringMap annotations = role.pod.annotations;
        annotations.insert_or_assign(std::string(kCommandAnnotation),
                                     write_arguments(job.arguments));
        write_head(w, {.api = kTrainerApi,
                       .kind = "TrainingRuntime",
                       .name = name,
                       .ns = job.ns,
                       .labels = joined(labels_of(job, role), role.pod.labels),
                       .annotations = annotations});
        w.object("spec", [&] {
            w.object("mlPolicy", [&] { w.member("numNodes", role.replicas); });
            w.object("template", [&] {
                w.object("spec", [&] {
                    w.array("replicatedJobs",
                            [&] { w.object([&] { write_replicated_job(w, job); }); });
                });
            });
        });
    });
    return w.take();
}

std::string write_train_job(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string anchor = job.anchor();
        StringMap labels = labels_of(job);
        if (!job.queue.empty()) labels.insert_or_assign(std::string(kKueueQueueLabel), job.queue);
        write_head(w, {.api = kTrainerApi,
                       .kind = "TrainJob",
                       .name = job.name,
                       .ns = job.ns,
                       .labels = labels,
                       .owner = owner_of(job, anchor, owner_uid)});
        w.object("spec", [&] {
            w.object("runtimeRef", [&] {
                w.member("apiGroup", kTrainerGroup);
                w.member("kind", "TrainingRuntime");
                w.member("name", anchor);
            });
            w.object("trainer", [&] { w.member("numNodes", job.roles.front().replicas); });
            if (!job.queue.empty()) w.member("suspend", true);
        });
    });
    return w.take();
}

std::string write_training_role(const Training& job, const Role& role, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = job.object(role);
        const std::string anchor = job.anchor();
        StringMap labels = joined(labels_of(job, role), role.pod.labels);
        if (!job.queue.empty()) labels.insert_or_assign(std::string(kKueueQueueLabel), job.queue);
        if (job.roles.size() > 1 && job.clean != CleanPolicy::none)
            labels.insert_or_assign(std::string(kCleanPolicyLabel), word_of(job.clean));
        StringMap annotations = role.pod.annotations;
        if (&role == &job.roles.front()) {
            annotations.insert_or_assign(std::string(kCommandAnnotation),
                                         write_arguments(job.arguments));
        }
        write_head(w, {.api = "batch/v1",
                       .kind = "Job",
                       .name = name,
                       .ns = job.ns,
                       .labels = labels,
                       .annotations = annotations,
                       .owner = owner_of(job, anchor, owner_uid)});
        w.object("spec", [&] { write_spec(w, job, role); });
    });
    return w.take();
}

std::string write_training_service(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string anchor = job.anchor();
        write_head(w, {.api = "v1",
                       .kind = "Service",
                       .name = job.name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(job, anchor, owner_uid)});
        w.object("spec", [&] {
            w.member("clusterIP", "None");
            // Pods look for each other before they are ready.
            w.member("publishNotReadyAddresses", true);
            write_map(w, "selector", {{std::string(kJobNameLabel), job.name}});
        });
    });
    return w.take();
}

std::string write_training_files(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = files_name(job);
        const std::string anchor = job.anchor();
        write_head(w, {.api = "v1",
                       .kind = "ConfigMap",
                       .name = name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(job, anchor, owner_uid)});
        write_files(w, job.roles.front().pod.files);
    });
    return w.take();
}

std::string write_training_secret(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = shell_secret_name(job.name);
        const std::string anchor = job.anchor();
        write_head(w, {.api = "v1",
                       .kind = "Secret",
                       .name = name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(job, anchor, owner_uid)});
        w.member("immutable", true);
        w.object("stringData", [&] { w.member(kShellSecretKey, job.shell_secret); });
    });
    return w.take();
}

// A Job has no field that ends it. A deadline in the past fails it, and a time to live of 0 deletes
// it once it has ended.
std::string write_role_end(const RoleEnd& end) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.member("uid", end.uid);
            w.object("annotations", [&] { w.member(kEndedAnnotation, end.why); });
        });
        w.object("spec", [&] {
            if (end.how == RoleEnding::suspend) {
                w.member("suspend", true);
                return;
            }
            w.member("activeDeadlineSeconds", 1);
            if (end.how == RoleEnding::remove) w.member("ttlSecondsAfterFinished", 0);
        });
    });
    return w.take();
}

}  // namespace tessera::workload
