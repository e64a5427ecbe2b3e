#include "wire/workload/serving_json.hpp"

#include "wire/text/json_patch.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

StringMap selector_of(const ServingName& id) {
    return {{std::string(kAppLabel), std::string(row_of(id.type).app)},
            {std::string(kInstanceLabel), id.object()}};
}

StringMap labels_of(const ServingName& id) {
    StringMap out = selector_of(id);
    out.emplace(kManagedByLabel, kTessera);
    out.emplace(kServingNameLabel, id.name);
    out.emplace(kServingVersionLabel, id.version);
    out.emplace(kServingTypeLabel, row_of(id.type).word);
    return out;
}

// The members of a DeploymentStrategy.
void write_strategy(JsonWriter& w, const Serving& job) {
    // A number or a percentage.
    const auto amount = [&](std::string_view key, const std::string& text) {
        if (text.empty()) return;
        if (text.back() == '%') {
            w.member(key, text);
        } else {
            w.raw_member(key, text);
        }
    };
    w.member("type", "RollingUpdate");
    if (job.max_surge.empty() && job.max_unavailable.empty()) return;
    w.object("rollingUpdate", [&] {
        amount("maxSurge", job.max_surge);
        amount("maxUnavailable", job.max_unavailable);
    });
}

void write_template(JsonWriter& w, const Serving& job) {
    StringMap labels = labels_of(job.id);
    labels.emplace(kSplitLabel, split_value(job.in_split.value_or(false)));
    write_pod_template(w, job.pod, labels, files_name(job));
}

}  // namespace

StringMap serving_labels(const Serving& job) {
    return joined(labels_of(job.id), job.pod.labels);
}

Owner serving_owner(std::string_view object, std::string_view uid) {
    return {.api = "apps/v1", .kind = "Deployment", .name = object, .uid = uid};
}

std::string write_serving_deployment(const Serving& job) {
    JsonWriter w;
    w.object([&] {
        const std::string name = job.id.object();
        write_head(w, {.api = "apps/v1",
                       .kind = "Deployment",
                       .name = name,
                       .ns = job.ns,
                       .labels = serving_labels(job),
                       .annotations = joined(
                           {{std::string(kCommandAnnotation), write_arguments(job.arguments)}},
                           job.pod.annotations)});
        w.object("spec", [&] {
            w.member("replicas", job.replicas);
            w.object("strategy", [&] { write_strategy(w, job); });
            w.object("selector", [&] { write_map(w, "matchLabels", selector_of(job.id)); });
            w.object("template", [&] { write_template(w, job); });
        });
    });
    return w.take();
}

std::string write_serving_service(const Serving& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = job.id.object();
        write_head(w, {.api = "v1",
                       .kind = "Service",
                       .name = name,
                       .ns = job.ns,
                       .labels = serving_labels(job),
                       .owner = serving_owner(name, owner_uid)});
        w.object("spec", [&] {
            write_map(w, "selector", selector_of(job.id));
            w.array("ports", [&] {
                for (const Port& port : job.pod.ports)
                    write_service_port(w, port.name, port.number);
            });
        });
    });
    return w.take();
}

std::string write_serving_files(const Serving& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        const std::string name = files_name(job);
        const std::string owner = job.id.object();
        write_head(w, {.api = "v1",
                       .kind = "ConfigMap",
                       .name = name,
                       .ns = job.ns,
                       .labels = serving_labels(job),
                       .owner = serving_owner(owner, owner_uid)});
        write_files(w, job.pod.files);
    });
    return w.take();
}

std::string write_serving_update(const Serving& job, std::string_view uid,
                                 std::string_view recorded, const ServingChange& change) {
    JsonPatch patch;
    const std::string command = "/metadata/annotations/" + pointer_part(kCommandAnnotation);
    patch.test("/metadata/uid", uid);
    patch.test(command, recorded);
    patch.add(command, write_arguments(job.arguments));
    if (change.pods) {
        if (job.in_split) {
            patch.test("/spec/template/metadata/labels/" + pointer_part(kSplitLabel),
                       split_value(*job.in_split));
        }
        for (const auto& [key, value] : serving_labels(job))
            patch.add("/metadata/labels/" + pointer_part(key), value);
        for (const auto& [key, value] : job.pod.annotations)
            patch.add("/metadata/annotations/" + pointer_part(key), value);
        JsonWriter pods;
        pods.object([&] { write_template(pods, job); });
        patch.add_raw("/spec/template", pods.take());
    }
    if (change.strategy) {
        JsonWriter strategy;
        strategy.object([&] { write_strategy(strategy, job); });
        patch.add_raw("/spec/strategy", strategy.take());
    }
    if (change.replicas) patch.add_raw("/spec/replicas", std::to_string(job.replicas));
    return patch.take();
}

}  // namespace tessera::workload
