#include "wire/workload/serving_json.hpp"

#include "wire/text/json_patch.hpp"
#include "wire/workload/pod_template_json.hpp"

namespace tessera::workload {
namespace {

StringMap selector_of(const ServingName& id) {
    return {{std::string(kAppLabel), std::string(row_of(id.type).app)},
            {std::string(kInstanceLabel), id.object()}};
}

StringMap labels_of(const ServingName& id) {
    StringMap out = selector_of(id);
    out.emplace(kManagedByLabel, "tessera");
    out.emplace(kServingNameLabel, id.name);
    out.emplace(kServingVersionLabel, id.version);
    out.emplace(kServingTypeLabel, row_of(id.type).word);
    return out;
}

std::string command_text(const Serving& job) {
    JsonWriter w;
    w.array([&] {
        for (const std::string& argument : job.arguments)
            w.item(argument);
    });
    return w.take();
}

// The members of every object of the job.
void write_head(JsonWriter& w, const Serving& job, std::string_view api, std::string_view kind,
                std::string_view name, const auto& more) {
    w.member("apiVersion", api);
    w.member("kind", kind);
    w.object("metadata", [&] {
        w.member("name", name);
        w.member("namespace", job.ns);
        StringMap labels = job.pod.labels;
        for (const auto& [key, value] : labels_of(job.id))
            labels.insert_or_assign(key, value);
        write_map(w, "labels", labels);
        more();
    });
}

void write_owner(JsonWriter& w, const Serving& job, std::string_view uid) {
    if (uid.empty()) return;
    w.array("ownerReferences", [&] {
        w.object([&] {
            w.member("apiVersion", "apps/v1");
            w.member("kind", "Deployment");
            w.member("name", job.id.object());
            w.member("uid", uid);
        });
    });
}

void write_strategy(JsonWriter& w, const Serving& job) {
    if (job.max_surge.empty() && job.max_unavailable.empty()) return;
    // A number or a percentage.
    const auto amount = [&](std::string_view key, const std::string& text) {
        if (text.empty()) return;
        if (text.back() == '%') {
            w.member(key, text);
        } else {
            w.raw_member(key, text);
        }
    };
    w.object("strategy", [&] {
        w.member("type", "RollingUpdate");
        w.object("rollingUpdate", [&] {
            amount("maxSurge", job.max_surge);
            amount("maxUnavailable", job.max_unavailable);
        });
    });
}

void write_template(JsonWriter& w, const Serving& job) {
    write_pod_template(w, job.pod, labels_of(job.id), files_name(job));
}

}  // namespace

std::string write_serving_deployment(const Serving& job) {
    JsonWriter w;
    w.object([&] {
        write_head(w, job, "apps/v1", "Deployment", job.id.object(), [&] {
            StringMap annotations = job.pod.annotations;
            annotations.insert_or_assign(std::string(kCommandAnnotation), command_text(job));
            write_map(w, "annotations", annotations);
        });
        w.object("spec", [&] {
            w.member("replicas", job.replicas);
            write_strategy(w, job);
            w.object("selector", [&] { write_map(w, "matchLabels", selector_of(job.id)); });
            w.object("template", [&] { write_template(w, job); });
        });
    });
    return w.take();
}

std::string write_serving_service(const Serving& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        write_head(w, job, "v1", "Service", job.id.object(),
                   [&] { write_owner(w, job, owner_uid); });
        w.object("spec", [&] {
            write_map(w, "selector", selector_of(job.id));
            w.array("ports", [&] {
                for (const Port& port : job.pod.ports) {
                    w.object([&] {
                        w.member("name", port.name);
                        w.member("port", port.number);
                        w.member("targetPort", port.name);
                    });
                }
            });
        });
    });
    return w.take();
}

std::string write_serving_files(const Serving& job, std::string_view owner_uid) {
    JsonWriter w;
    w.object([&] {
        write_head(w, job, "v1", "ConfigMap", files_name(job),
                   [&] { write_owner(w, job, owner_uid); });
        w.member("immutable", true);
        w.object("data", [&] {
            for (std::size_t i = 0; i < job.pod.files.size(); ++i)
                w.member(file_key(i), job.pod.files[i].content);
        });
    });
    return w.take();
}

std::string write_serving_update(const Serving& job, std::string_view uid,
                                 std::string_view recorded, bool replicas) {
    JsonWriter pods;
    pods.object([&] { write_template(pods, job); });
    JsonPatch patch;
    const std::string command = "/metadata/annotations/" + pointer_part(kCommandAnnotation);
    patch.test("/metadata/uid", uid);
    patch.test(command, recorded);
    patch.add(command, command_text(job));
    patch.add_raw("/spec/template", pods.take());
    if (replicas) patch.add_raw("/spec/replicas", std::to_string(job.replicas));
    return patch.take();
}

}  // namespace tessera::workload
