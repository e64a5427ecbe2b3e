#include "wire/kube/kube_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>

#include "domain/admission/pod_admission.hpp"
#include "wire/kube/host_resources.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/kube/pod_status_json.hpp"
#include "wire/kube/text_patch.hpp"
#include "wire/kube/unknown_annotations.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"
#include "wire/tessera/resize_json.hpp"
#include "wire/text/json_patch.hpp"

namespace tessera {
namespace {

// With `every`, also containers without a limit of a dialect.
void read_containers(JsonValue list, bool init, bool every, const Dialects& dialects,
                     std::vector<ContainerSpec>& out) {
    for (const JsonValue json : list.elements()) {
        ContainerSpec container;
        for (const auto& [name, quantity] : json["resources"]["limits"].members()) {
            if (dialects.of_resource(name) == nullptr) continue;
            const auto number = quantity.integer();
            container.limits.emplace_back(name,
                                          number ? std::to_string(*number) : quantity.text_or(""));
        }
        if (container.limits.empty() && !every) continue;
        container.name = json["name"].text_or("");
        if (init) {
            const bool sidecar = json["restartPolicy"].text_or("") == "Always";
            container.kind = sidecar ? ContainerKind::sidecar : ContainerKind::init;
        }
        out.push_back(std::move(container));
    }
}

// Those that a dialect reads.
StringMap texts_of(JsonValue labels_or_annotations, const Dialects& dialects) {
    StringMap texts;
    for (const Dialect* dialect : dialects.all()) {
        for (const auto keys : {dialect->annotations, dialect->hints}) {
            for (const std::string_view key : keys) {
                if (const auto text = labels_or_annotations[key].text()) texts.emplace(key, *text);
            }
        }
    }
    return texts;
}

GpuTexts read_gpu_texts(JsonValue metadata, JsonValue spec, const Dialects& dialects) {
    GpuTexts texts;
    texts.labels = texts_of(metadata["labels"], dialects);
    texts.annotations = texts_of(metadata["annotations"], dialects);
    const bool by_annotation = std::ranges::any_of(texts.annotations, [&](const auto& text) {
        return dialects.of_annotation(text.first) != nullptr;
    });
    read_containers(spec["initContainers"], true, by_annotation, dialects, texts.containers);
    read_containers(spec["containers"], false, by_annotation, dialects, texts.containers);
    if (const auto text = metadata["annotations"][kCoresLimit].text())
        texts.cores_limit = std::string(*text);
    if (const auto text = metadata["annotations"][kGpuMemoryLimit].text())
        texts.memory_limit = std::string(*text);
    return texts;
}

// Annotations win over labels, and labels over Kubernetes' own pod group.
void read_gang(JsonValue metadata, JsonValue spec, PodInfo& info) {
    struct Spelling {
        JsonValue texts;
        std::string_view gang;
        std::string_view size;
    };
    for (const Spelling& by :
         {Spelling{metadata["annotations"], key::kGang, key::kGangSize},
          Spelling{metadata["labels"], key::kPodGroupLabel, key::kPodGroupMinAvailableLabel}}) {
        // One without the other is an error of the user; placing the pod alone would hide it.
        if (by.texts[by.gang].present() || by.texts[by.size].present()) {
            info.gang_named = by.texts[by.gang].text_or("");
            info.gang = parse_gang(info.gang_named, by.texts[by.size].text_or(""), by.size);
            return;
        }
    }
    info.gang_named = spec["schedulingGroup"]["podGroupName"].text_or("");
    if (!info.gang_named.empty()) info.gang = GangMembership{info.gang_named, 0};
}

class AnnotationsOf final : public FormerAnnotations {
  public:
    explicit AnnotationsOf(JsonValue annotations) : annotations_(annotations) {}

    [[nodiscard]] std::optional<std::string> text(std::string_view key) const override {
        const auto text = annotations_[key].text();
        return text ? std::optional(std::string(*text)) : std::nullopt;
    }
    void each_number(std::string_view key,
                     const std::function<void(const Number&)>& take) const override {
        const auto text = annotations_[key].text();
        if (!text) return;
        const auto document = JsonDocument::parse(*text);
        if (!document) return;
        for (const auto& [outer, inner] : document->root().members()) {
            for (const auto& [name, number] : inner.members()) {
                if (const auto value = number.integer()) take({outer, name, *value});
            }
        }
    }

  private:
    JsonValue annotations_;
};

std::optional<LegacyAllocation> read_legacy(JsonValue annotations, const Dialects& dialects) {
    const AnnotationsOf from(annotations);
    for (const Dialect* dialect : dialects.on()) {
        if (dialect->former_allocation == nullptr) continue;
        if (auto former = dialect->former_allocation(from)) return former;
    }
    return std::nullopt;
}

// Whether kubelet gives the container a device of a GPU. It gives none for memory and compute that
// only the controller counts: such a container has no GPU if another scheduler bound its pod. A
// container without limits requests its GPUs by annotations.
bool gets_device(const ContainerSpec& container, const Dialects& dialects) {
    return container.limits.empty() ||
           std::ranges::any_of(container.limits, [&](const auto& limit) {
               const Dialect* dialect = dialects.of_resource(limit.first);
               return dialect != nullptr && limit.second != "0" &&
                      std::ranges::find(dialect->device_lists, limit.first,
                                        &DeviceList::resource) != dialect->device_lists.end();
           });
}

// Whether the runtime has ever created one of these containers with a device of a GPU.
bool any_created(JsonValue status, const std::vector<ContainerSpec>& containers,
                 const Dialects& dialects) {
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
        for (const JsonValue json : status[list].elements()) {
            if (json["containerID"].text_or("").empty()) continue;
            const auto name = json["name"].text();
            if (!name) continue;
            const auto container = std::ranges::find(containers, *name, &ContainerSpec::name);
            if (container != containers.end() && gets_device(*container, dialects)) return true;
        }
    }
    return false;
}

void read_former_node(JsonValue capacity, bool has_agent, const Dialects& dialects,
                      NodeInventory& node) {
    std::map<std::string_view, std::int64_t> amounts;
    for (const auto& [resource, quantity] : capacity.members()) {
        if (dialects.of_resource(resource) == nullptr) continue;
        if (const auto amount = parse_whole_quantity(quantity.text_or("")))
            amounts.emplace(resource, *amount);
    }
    for (const Dialect* dialect : dialects.on()) {
        if (dialect->read_former_node != nullptr)
            dialect->read_former_node(amounts, has_agent, node);
    }
}

constexpr std::array<std::pair<std::string_view, WatchEvent::Kind>, 5> kEventTypes = {{
    {"ADDED", WatchEvent::Kind::added},
    {"MODIFIED", WatchEvent::Kind::modified},
    {"DELETED", WatchEvent::Kind::deleted},
    {"BOOKMARK", WatchEvent::Kind::bookmark},
    {"ERROR", WatchEvent::Kind::error},
}};

// A copy of a pod (kubectl debug --copy-to, a restored backup) has the annotation of the original.
// An unreadable copied annotation is no reason to close a node: the agent does not start the copy.
Result<Allocation> read_allocation_of(const PodUid& pod, std::string_view text,
                                      std::optional<std::string_view> mac,
                                      const AllocationSeal* seal, const Dialects& dialects) {
    auto allocation = read_sealed_allocation(text, mac, seal, dialects);
    if (allocation || allocation.error().code != Code::unsupported) return allocation;
    const PodUid made_for = pod_of_allocation(text);
    if (made_for.str().empty() || made_for == pod) return allocation;
    return fail(Code::conflict, "allocation: it was made for another pod");
}

// `texts`: of the pod.
PodInfo read_pod_with(GpuTexts texts, JsonValue pod, const AllocationSeal* seal,
                      const Dialects& dialects) {
    const JsonValue metadata = pod["metadata"];
    const JsonValue spec = pod["spec"];
    const std::string phase = pod["status"]["phase"].text_or("");
    PodInfo info;
    info.uid = PodUid(metadata["uid"].text_or(""));
    info.name = {metadata["namespace"].text_or("default"), metadata["name"].text_or("")};
    info.node = NodeName(spec["nodeName"].text_or(""));
    info.nominated = NodeName(pod["status"]["nominatedNodeName"].text_or(""));
    info.is_nominated_ahead = read_nominated_ahead(pod);
    const auto priority = spec["priority"].integer().value_or(0);
    info.priority = static_cast<int>(std::clamp<std::int64_t>(priority, INT32_MIN, INT32_MAX));
    info.preempts = spec["preemptionPolicy"].text_or("") != "Never";
    info.finished = phase == "Succeeded" || phase == "Failed";
    info.terminating = metadata["deletionTimestamp"].present();
    info.gated = !spec["schedulingGates"].elements().empty();
    info.request = parse_container_requests(texts, dialects);
    info.containers = std::move(texts.containers);
    info.created = metadata["creationTimestamp"].text_or("");
    info.host = read_host_request(spec);
    const JsonValue annotations = metadata["annotations"];
    info.started = any_created(pod["status"], info.containers, dialects);
    if (const auto text = annotations[key::kAllocation].text()) {
        info.allocation = read_allocation_of(
            info.uid, *text, annotations[key::kAllocationMac].text(), seal, dialects);
    }
    if (info.containers.empty()) return info;
    if (info.node.empty())
        info.scheduling = std::make_shared<const SchedulingRules>(read_scheduling_rules(pod));
    read_gang(metadata, spec, info);
    info.policy = annotations[kPlacementPolicy].text_or("");
    info.gpu_rules = {.models = annotations[kGpuModels].text_or(""),
                      .uuids = annotations[kGpuUuids].text_or(""),
                      .anti_affinity = metadata["labels"][kGpuAntiAffinity].text_or(""),
                      .affinity = metadata["labels"][kGpuAffinity].text_or(""),
                      .topology = annotations[kGpuTopology].text_or(""),
                      .isolation = annotations[kIsolation].text_or("")};
    info.unknown_annotations = unknown_annotations(annotations, metadata["labels"]);
    info.legacy = read_legacy(annotations, dialects);
    const std::string enforced_by = annotations[key::kEnforcedBy].text_or("");
    info.is_guarded = enforced_by == key::kEnforcedByGuard ||
                      enforced_by == key::kEnforcedByGuardAndMps ||
                      enforced_by == key::kEnforcedByDriverAndGuard;
    if (const auto requested = annotations[key::kResize].text()) {
        const std::string refusal = annotations[key::kResizeRefused].text_or("");
        if (!is_refusal_of(refusal, *requested)) info.resize = read_resize_request(*requested);
    }
    return info;
}

}  // namespace

PodInfo read_pod(JsonValue pod, const AllocationSeal* seal, const Dialects& dialects) {
    return read_pod_with(read_gpu_texts(pod["metadata"], pod["spec"], dialects), pod, seal,
                         dialects);
}

PodInfo read_defaulted_pod(JsonValue pod, const Dialects& dialects) {
    GpuTexts texts = read_gpu_texts(pod["metadata"], pod["spec"], dialects);
    for (ContainerSpec& container : texts.containers) {
        std::ranges::move(missing_limits(container, dialects),
                          std::back_inserter(container.limits));
    }
    return read_pod_with(std::move(texts), pod, nullptr, dialects);
}

NodeInventory read_node(JsonValue json, const Dialects& dialects) {
    NodeInventory node;
    node.name = NodeName(json["metadata"]["name"].text_or(""));
    for (const JsonValue address : json["status"]["addresses"].elements()) {
        if (address["type"].text_or("") != "InternalIP") continue;
        node.address = address["address"].text_or("");
        break;
    }
    node.host = read_host_amounts(json["status"]["allocatable"]);
    node.traits = SharedNodeTraits(read_node_traits(json));
    const auto annotation = json["metadata"]["annotations"][key::kGpus].text();
    read_former_node(json["status"]["capacity"], annotation.has_value(), dialects, node);
    if (!annotation) return node;
    auto gpus = read_node_gpus(*annotation);
    if (!gpus) {
        node.fault = gpus.error().text;
        return node;
    }
    node.unit = gpus->unit;
    node.shares = gpus->shares;
    node.enforcement_fault = std::move(gpus->enforcement_fault);
    node.injection_fault = std::move(gpus->injection_fault);
    node.gpus = std::move(gpus->gpus);
    return node;
}

Result<WatchEvent> read_watch_event(const JsonDocument& document) {
    const std::string type = document.root()["type"].text_or("");
    WatchEvent event;
    event.object = document.root()["object"];
    const auto* row = std::ranges::find(kEventTypes, type, [](const auto& r) { return r.first; });
    if (row == kEventTypes.end()) {
        return fail(Code::invalid_argument, "watch: unknown event \"" + type + "\"");
    }
    event.kind = row->second;
    event.resource_version = event.object["metadata"]["resourceVersion"].text_or("");
    if (event.kind == WatchEvent::Kind::error) {
        const bool too_old = event.object["code"].integer().value_or(0) == 410;
        event.error = {too_old ? Code::expired : Code::unavailable,
                       event.object["message"].text_or("the watch failed")};
    }
    return event;
}

Result<ListPage> read_list(const JsonDocument& document) {
    const JsonValue metadata = document.root()["metadata"];
    const auto version = metadata["resourceVersion"].text();
    if (!version) return fail(Code::invalid_argument, "list: no metadata.resourceVersion");
    return ListPage{document.root()["items"].elements(), std::string(*version),
                    metadata["continue"].text_or("")};
}

std::string status_message(std::string_view body) {
    if (auto document = JsonDocument::parse(body)) {
        if (const auto message = document->root()["message"].text()) return std::string(*message);
    }
    return std::string(body.substr(0, 200));
}

namespace {

void write_map(JsonWriter& w, std::string_view name, const Annotations& values) {
    w.object(name, [&] {
        for (const auto& [key, value] : values)
            w.member(key, value);
    });
}

}  // namespace

std::string write_binding(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const Annotations& annotations) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "Binding");
        w.object("metadata", [&] {
            w.member("name", pod.name);
            w.member("namespace", pod.ns);
            w.member("uid", uid.str());
            write_map(w, "annotations", annotations);
        });
        w.object("target", [&] {
            w.member("apiVersion", "v1");
            w.member("kind", "Node");
            w.member("name", node.str());
        });
    });
    return w.take();
}

std::string write_annotations_patch(const Annotations& annotations) {
    JsonWriter w;
    w.object(
        [&] { w.object("metadata", [&] { write_text_patch(w, "annotations", annotations); }); });
    return w.take();
}

std::string write_metadata_patch(const Annotations& annotations, const StringMap& labels) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            write_text_patch(w, "annotations", annotations);
            write_text_patch(w, "labels", labels);
        });
    });
    return w.take();
}

std::string write_annotations_patch(const PodUid& uid, std::string_view resource_version,
                                    const Annotations& annotations) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.member("uid", uid.str());
            if (!resource_version.empty()) w.member("resourceVersion", resource_version);
            write_text_patch(w, "annotations", annotations);
        });
    });
    return w.take();
}

std::string write_capacity_patch(const Annotations& amounts) {
    JsonWriter w;
    w.object([&] {
        w.object("status", [&] {
            write_map(w, "capacity", amounts);
            write_map(w, "allocatable", amounts);
        });
    });
    return w.take();
}

std::string write_taint_removal(const std::vector<std::string>& keys, std::string_view removed) {
    JsonPatch patch;
    // The last one first, so that the positions of the others stay.
    for (std::size_t i = keys.size(); i-- > 0;) {
        if (keys[i] != removed) continue;
        const std::string path = fmt::format("/spec/taints/{}", i);
        patch.test(path + "/key", removed);
        patch.remove(path);
    }
    return patch.take();
}

}  // namespace tessera
