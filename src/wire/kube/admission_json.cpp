#include "wire/kube/admission_json.hpp"

#include <fmt/format.h>

#include "wire/text/base64.hpp"
#include "wire/text/json_patch.hpp"

namespace tessera {
namespace {

constexpr std::string_view kVersion = "admission.k8s.io/v1";
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
    for (const auto& [key, value] : pod["metadata"]["annotations"].members())
        out.annotations.emplace_back(key);
    out.is_mirror = pod["metadata"]["annotations"][kMirror].present();
    read_containers(spec["initContainers"], ContainerKind::init, dialects, out.containers);
    read_containers(spec["containers"], ContainerKind::app, dialects, out.containers);
    return out;
}

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
    if (version != kVersion) return bad("apiVersion", version, kVersion);
    const std::string kind = review["kind"].text_or("");
    if (kind != kKind) return bad("kind", kind, kKind);
    const JsonValue request = review["request"];
    const std::string uid = request["uid"].text_or("");
    if (uid.empty()) return bad("request.uid", uid, "an identifier");
    const std::string what = request["kind"]["kind"].text_or("");
    if (what != "Pod") return bad("request.kind.kind", what, "Pod");
    const std::string operation = request["operation"].text_or("");
    if (operation != "CREATE") return bad("request.operation", operation, "CREATE");
    if (!request["object"].is_object()) return bad("request.object", "", "a pod");
    return AdmissionRequest{uid, read_created_pod(request["object"], dialects)};
}

std::string write_pod_patch(const PodEdits& edits) {
    if (edits == PodEdits{}) return {};
    JsonPatch patch;
    for (const std::string& key : edits.removed_annotations)
        patch.remove("/metadata/annotations/" + pointer_part(key));
    if (!edits.scheduler.empty()) patch.add("/spec/schedulerName", edits.scheduler);
    if (!edits.runtime_class.empty()) patch.add("/spec/runtimeClassName", edits.runtime_class);
    for (const AddedLimit& limit : edits.limits)
        add_limit(patch, limit);
    return patch.take();
}

std::string write_admission_answer(std::string_view uid, const PodEdits& edits) {
    const std::string patch = write_pod_patch(edits);
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", kVersion);
        w.member("kind", kKind);
        w.object("response", [&] {
            w.member("uid", uid);
            w.member("allowed", true);
            if (patch.empty()) return;
            w.member("patchType", "JSONPatch");
            w.member("patch", encode_base64(patch));
        });
    });
    return w.take();
}

}  // namespace tessera
