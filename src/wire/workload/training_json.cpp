#include "wire/workload/training_json.hpp"

#include "domain/training/mpi_paths.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

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

// `object` is the anchor's name, and outlives the result.
Owner owner_of(std::string_view object, std::string_view uid) {
    return {.api = "batch/v1", .kind = "Job", .name = object, .uid = uid};
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
    if (!job.queue.empty()) w.member("suspend", true);
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

}  // namespace

std::string write_training_role(const Training& job, const Role& role, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = job.object(role);
        const std::string anchor = job.object(job.roles.front());
        StringMap labels = joined(labels_of(job, role), role.pod.labels);
        if (!job.queue.empty()) labels.insert_or_assign("kueue.x-k8s.io/queue-name", job.queue);
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
                       .owner = owner_of(anchor, owner_uid)});
        w.object("spec", [&] { write_spec(w, job, role); });
    });
    return w.take();
}

std::string write_training_service(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string anchor = job.object(job.roles.front());
        write_head(w, {.api = "v1",
                       .kind = "Service",
                       .name = job.name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(anchor, owner_uid)});
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
        const std::string anchor = job.object(job.roles.front());
        write_head(w, {.api = "v1",
                       .kind = "ConfigMap",
                       .name = name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(anchor, owner_uid)});
        write_files(w, job.roles.front().pod.files);
    });
    return w.take();
}

std::string write_training_secret(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = shell_secret_name(job.name);
        const std::string anchor = job.object(job.roles.front());
        write_head(w, {.api = "v1",
                       .kind = "Secret",
                       .name = name,
                       .ns = job.ns,
                       .labels = labels_of(job),
                       .owner = owner_of(anchor, owner_uid)});
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
