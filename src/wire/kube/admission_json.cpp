#include "wire/kube/admission_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/kube/kube_objects.hpp"
#include "wire/text/base64.hpp"
#include "wire/text/json_patch.hpp"

namespace tessera {
namespace {

constexpr std::string_view kVersion = "admission.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "admission.k8s.io/v1beta1";
constexpr std::string_view kKind = "AdmissionReview";
// Of a static pod (k8s.io/kubernetes, pkg/kubelet/types).
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

void read_containers(JsonValue list, ContainerKind kind, const Dialects& dialects,
                     std::vector<CreatedContainer>& out) {
    std::size_t position = 0;
    for (const JsonValue json : list.elements()) {
        CreatedContainer container{.position = position++, .spec = {.name = {}, .kind = kind}};
        for (const auto& [name, quantity] : json["resources"]["limits"].members()) {
            if (dialects.of_resource(name) != nullptr)
                container.spec.limits.emplace_back(name, quantity.text_or(""));
        }
        if (container.spec.limits.empty()) continue;
        container.spec.name = json["name"].text_or("");
        out.push_back(std::move(container));
    }
}

CreatedPod read_created_pod(JsonValue pod, const Dialects& dialects) {
    const JsonValue spec = pod["spec"];
    CreatedPod out;
    out.node = NodeName(spec["nodeName"].text_or(""));
    out.scheduler = spec["schedulerName"].text_or("");
    out.runtime_class = spec["runtimeClassName"].text_or("");
    out.priority_class = spec["priorityClassName"].text_or("");
    out.priority = spec["priority"].integer();
    out.has_preemption_policy = spec["preemptionPolicy"].present();
    for (const auto& [key, value] : pod["metadata"]["annotations"].members())
        out.annotations.emplace_back(key);
    out.is_mirror = pod["metadata"]["annotations"][kMirror].present();
    read_containers(spec["initContainers"], ContainerKind::init, dialects, out.containers);
    read_containers(spec["containers"], ContainerKind::app, dialects, out.containers);
    return out;
}

JsonValue template_of(JsonValue object) {
    return object["spec"]["template"];
}

struct KindRow {
    std::string_view kind;
    JsonValue (*pod)(JsonValue object);  // the pod, or the template of pods
};

constexpr auto kKinds = std::to_array<KindRow>({
    {"Pod", [](JsonValue object) { return object; }},
    {"Deployment", template_of},
    {"StatefulSet", template_of},
    {"DaemonSet", template_of},
    {"ReplicaSet", template_of},
    {"Job", template_of},
    {"CronJob", [](JsonValue object) { return template_of(object["spec"]["jobTemplate"]); }},
});

// The API server makes the requests of an extended resource equal to its limits, if the container
// has no requests for it.
void add_limit(JsonPatch& patch, const AddedLimit& limit) {
    const std::string_view list =
        limit.kind == ContainerKind::app ? "containers" : "initContainers";
    patch.add(fmt::format("/spec/{}/{}/resources/limits/{}", list, limit.position,
                          pointer_part(limit.resource)),
              limit.amount);
}

}  // namespace

Result<AdmissionRequest> read_admission_review(JsonValue review, const Dialects& dialects) {
    const auto bad = [](std::string_view field, const std::string& is, std::string_view wanted) {
        return fail(Code::invalid_argument, fmt::format("{}: \"{}\" is not {}", field, is, wanted));
    };
    const std::string version = review["apiVersion"].text_or("");
    if (version != kVersion && version != kV1Beta1)
        return bad("apiVersion", version, "admission.k8s.io/v1 or v1beta1");
    const std::string kind = review["kind"].text_or("");
    if (kind != kKind) return bad("kind", kind, kKind);
    const JsonValue request = review["request"];
    const std::string uid = request["uid"].text_or("");
    if (uid.empty()) return bad("request.uid", uid, "an identifier");
    const std::string what = request["kind"]["kind"].text_or("");
    const auto row = std::ranges::find(kKinds, what, &KindRow::kind);
    if (row == kKinds.end())
        return bad("request.kind.kind", what, "a pod or an object that makes pods");
    const bool is_pod = row == kKinds.begin();
    const std::string operation = request["operation"].text_or("");
    const bool is_update = !is_pod && operation == "UPDATE";
    if (operation != "CREATE" && !is_update)
        return bad("request.operation", operation, is_pod ? "CREATE" : "CREATE or UPDATE");
    const JsonValue pod = row->pod(request["object"]);
    if (!pod.is_object()) return bad("request.object", "", is_pod ? "a pod" : "a template of pods");
    AdmissionRequest out{.id = {version, uid},
                         .ns = request["namespace"].text_or(""),
                         .is_pod = is_pod,
                         .checked = {.pod = read_created_pod(pod, dialects),
                                     .info = read_defaulted_pod(pod, dialects),
                                     .before = {}}};
    if (is_update)
        out.checked.before = read_defaulted_pod(row->pod(request["oldObject"]), dialects);
    return out;
}

std::string write_pod_patch(const PodEdits& edits) {
    if (edits == PodEdits{}) return {};
    JsonPatch patch;
    for (const std::string& key : edits.removed_annotations)
        patch.remove("/metadata/annotations/" + pointer_part(key));
    if (!edits.scheduler.empty()) patch.add("/spec/schedulerName", edits.scheduler);
    if (!edits.runtime_class.empty()) patch.add("/spec/runtimeClassName", edits.runtime_class);
    if (!edits.priority_class.empty()) patch.add("/spec/priorityClassName", edits.priority_class);
    if (edits.removes_priority) patch.remove("/spec/priority");
    if (edits.removes_preemption_policy) patch.remove("/spec/preemptionPolicy");
    for (const AddedLimit& limit : edits.limits)
        add_limit(patch, limit);
    return patch.take();
}

std::string write_admission_answer(const AdmissionReviewId& id, const Result<PodEdits>& edits) {
    // kubectl shows the message of this status, and not that of 422.
    constexpr int kBadRequest = 400;
    const std::string patch = edits ? write_pod_patch(*edits) : "";
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", id.version);
        w.member("kind", kKind);
        w.object("response", [&] {
            w.member("uid", id.uid);
            w.member("allowed", edits.has_value());
            if (!edits) {
                w.object("status", [&] {
                    w.member("code", kBadRequest);
                    w.member("reason", "BadRequest");
                    w.member("message", edits.error().text);
                });
            }
            if (patch.empty()) return;
            w.member("patchType", "JSONPatch");
            w.member("patch", encode_base64(patch));
        });
    });
    return w.take();
}

}  // namespace tessera
