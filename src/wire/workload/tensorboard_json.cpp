#include "wire/workload/tensorboard_json.hpp"

#include "domain/training/tensorboard.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/pod_template_json.hpp"
#include "wire/workload/training_json.hpp"

namespace tessera::workload {
namespace {

StringMap labels_of(const Training& job) {
    return {{std::string(kAppLabel), "tensorboard"},
            {std::string(kInstanceLabel), job.name},
            {std::string(kManagedByLabel), std::string(kTessera)},
            {std::string(kTensorboardLabel), job.name}};
}

StringMap selector_of(const Training& job) {
    return {{std::string(kTensorboardLabel), job.name}};
}

void write_object_head(JsonWriter& w, const Training& job, std::string_view owner_uid,
                       std::string_view api, std::string_view kind) {
    const std::string name = tensorboard_name(job.name);
    const std::string anchor = job.anchor();
    write_head(w, {.api = api,
                   .kind = kind,
                   .name = name,
                   .ns = job.ns,
                   .labels = labels_of(job),
                   .owner = owner_of(job, anchor, owner_uid)});
}

// A volume of one node, or of which one node at a time may have it, is where the first pod is.
PodTemplate beside_the_first_pod(const Training& job) {
    PodTemplate pod = *job.tensorboard;
    pod.affinity = {.labels = {{std::string(kJobNameLabel), job.name},
                               {std::string(kJobRoleLabel), job.roles.front().name},
                               {"batch.kubernetes.io/job-completion-index", "0"}},
                    .anti = false,
                    .required = true};
    return pod;
}

}  // namespace

std::string write_tensorboard_deployment(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        write_object_head(w, job, owner_uid, "apps/v1", "Deployment");
        w.object("spec", [&] {
            w.member("replicas", 1);
            // Two pods at a time would serve nothing more.
            w.object("strategy", [&] { w.member("type", "Recreate"); });
            w.object("selector", [&] { write_map(w, "matchLabels", selector_of(job)); });
            w.object("template",
                     [&] { write_pod_template(w, beside_the_first_pod(job), labels_of(job), ""); });
        });
    });
    return w.take();
}

std::string write_tensorboard_service(const Training& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        write_object_head(w, job, owner_uid, "v1", "Service");
        w.object("spec", [&] {
            write_map(w, "selector", selector_of(job));
            w.array("ports", [&] {
                w.object([&] {
                    w.member("name", "http");
                    w.member("port", kTensorboardPort);
                    w.member("targetPort", "http");
                });
            });
        });
    });
    return w.take();
}

}  // namespace tessera::workload
