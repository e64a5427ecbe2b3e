#include "wire/kube/kube_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "wire/kube/host_resources.hpp"
#include "wire/kube/unknown_annotations.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"
#include "wire/tessera/resize_json.hpp"

namespace tessera {
namespace {

void read_containers(JsonValue list, bool init, std::vector<ContainerSpec>& out) {
    for (const JsonValue json : list.elements()) {
        ContainerSpec container;
        for (const auto& [name, quantity] : json["resources"]["limits"].members()) {
            if (!is_gpu_resource(name)) continue;
            const auto number = quantity.integer();
            container.limits.emplace_back(name,
                                          number ? std::to_string(*number) : quantity.text_or(""));
        }
        if (container.limits.empty()) continue;
        container.name = json["name"].text_or("");
        if (init) {
            const bool sidecar = json["restartPolicy"].text_or("") == "Always";
            container.kind = sidecar ? ContainerKind::sidecar : ContainerKind::init;
        }
        out.push_back(std::move(container));
    }
}

// Alibaba Cloud's manifests give the number of GPUs as a label of the pod, next to the limits;
// kubelet does not count the label.
void apply_count_label(JsonValue labels, std::vector<ContainerSpec>& containers) {
    const auto count = labels[resource::kAliyunCount].text();
    if (!count) return;
    for (ContainerSpec& container : containers) {
        const auto says = [&](std::string_view resource) {
            return std::ranges::any_of(container.limits,
                                       [&](const auto& limit) { return limit.first == resource; });
        };
        if (!says(resource::kAliyunMem) || says(resource::kAliyunCount)) continue;
        container.limits.emplace_back(resource::kAliyunCount, *count);
    }
}

void apply_cores_limit(JsonValue annotations, std::vector<ContainerSpec>& containers) {
    const auto cores_limit = annotations[kCoresLimit].text();
    if (!cores_limit) return;
    for (ContainerSpec& container : containers)
        container.cores_limit = std::string(*cores_limit);
}

std::optional<std::int64_t> decimal(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

constexpr std::int64_t kMaxLegacyUnits = std::int64_t{1} << 20;

constexpr std::int64_t kMaxLegacyIndex = 1024;

// Annotations win over labels, and labels over Kubernetes' own pod group.
void read_gang(JsonValue metadata, JsonValue spec, PodInfo& facts) {
    struct Spelling {
        JsonValue texts;
        std::string_view gang;
        std::string_view size;
    };
    for (const Spelling& by : {Spelling{metadata["annotations"], key::kGang, key::kGangSize},
                               Spelling{metadata["labels"], key::kPodGroup, key::kPodGroupSize}}) {
        // One without the other is an error of the user; placing the pod alone would hide it.
        if (by.texts[by.gang].present() || by.texts[by.size].present()) {
            facts.gang_named = by.texts[by.gang].text_or("");
            facts.gang = parse_gang(facts.gang_named, by.texts[by.size].text_or(""), by.size);
            return;
        }
    }
    facts.gang_named = spec["schedulingGroup"]["podGroupName"].text_or("");
    if (!facts.gang_named.empty()) facts.gang = GangMembership{facts.gang_named, 0};
}

// Adds up to one share per GPU, from what all containers were given there.
void add_share(LegacyAllocation& legacy, std::optional<std::int64_t> index,
               std::optional<std::int64_t> units) {
    if (!index || !units || *index < 0 || *index > kMaxLegacyIndex || *units < 1) return;
    auto share = std::ranges::find(legacy.shares, *index, &LegacyAllocation::Share::index);
    if (share == legacy.shares.end()) {
        share = legacy.shares.insert(share, {static_cast<int>(*index), 0});
    }
    share->units = std::min(share->units + std::min(*units, kMaxLegacyUnits), kMaxLegacyUnits);
}

// scheduler.framework.gpushare.allocation wins over the single index, as in gpushare's own tools.
std::optional<LegacyAllocation> read_legacy(JsonValue annotations) {
    LegacyAllocation legacy;
    if (const auto text = annotations[key::kGpushareAllocation].text()) {
        if (auto document = JsonDocument::parse(*text)) {
            for (const auto& [container, shares] : document->root().members()) {
                for (const auto& [index, units] : shares.members()) {
                    add_share(legacy, decimal(index), units.integer());
                }
            }
        }
    }
    if (legacy.shares.empty()) {
        const auto index = annotations[key::kAliyunIndex].text();
        const auto units = annotations[key::kAliyunPod].text();
        if (index && units) add_share(legacy, decimal(*index), decimal(*units));
    }
    if (legacy.shares.empty()) return std::nullopt;
    return legacy;
}

// Whether the runtime has ever created one of these containers.
bool any_created(JsonValue status, const std::vector<ContainerSpec>& containers) {
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
        for (const JsonValue json : status[list].elements()) {
            if (json["containerID"].text_or("").empty()) continue;
            const auto name = json["name"].text();
            if (name &&
                std::ranges::find(containers, *name, &ContainerSpec::name) != containers.end()) {
                return true;
            }
        }
    }
    return false;
}

std::int64_t amount(JsonValue amounts, std::string_view resource) {
    const auto value = parse_whole_quantity(amounts[resource].text_or("0"));
    return value ? *value : 0;
}

// A GPU with more units than this is assumed to be counted in MiB. gpushare publishes no unit, and
// its own inspect tool guesses in the same way (docs/research/gpushare.md §3).
constexpr std::int64_t kLargestGpuInGib = 100;

void read_legacy_node(JsonValue capacity, NodeInventory& node) {
    const std::int64_t count = std::min<std::int64_t>(amount(capacity, resource::kAliyunCount), 64);
    if (count <= 0 || node.gpu_mem < count) return;  // no GPU, or none of a whole unit
    const std::int64_t per_gpu = node.gpu_mem / count;
    node.source = InventorySource::legacy;
    node.unit = per_gpu > kLargestGpuInGib ? MemoryUnit::mib : MemoryUnit::gib;
    for (int i = 0; i < count; ++i) {
        Gpu gpu;
        gpu.uuid = uuid_of_index(i);
        gpu.index = gpu.minor = i;
        gpu.memory = {std::min(per_gpu, kMaxLegacyUnits) * bytes_per_unit(node.unit).count};
        node.gpus.push_back(std::move(gpu));
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
                                      const AllocationSeal* seal) {
    auto allocation = read_sealed_allocation(text, mac, seal);
    if (allocation || allocation.error().code != Code::unsupported) return allocation;
    const PodUid made_for = pod_of_allocation(text);
    if (made_for.str().empty() || made_for == pod) return allocation;
    return fail(Code::conflict, "allocation: it was made for another pod");
}

}  // namespace

PodInfo read_pod(JsonValue pod, const AllocationSeal* seal) {
    const JsonValue metadata = pod["metadata"];
    const JsonValue spec = pod["spec"];
    const std::string phase = pod["status"]["phase"].text_or("");
    PodInfo facts;
    facts.uid = PodUid(metadata["uid"].text_or(""));
    facts.name = {metadata["namespace"].text_or("default"), metadata["name"].text_or("")};
    facts.node = NodeName(spec["nodeName"].text_or(""));
    facts.nominated = NodeName(pod["status"]["nominatedNodeName"].text_or(""));
    const auto priority = spec["priority"].integer().value_or(0);
    facts.priority = static_cast<int>(std::clamp<std::int64_t>(priority, INT32_MIN, INT32_MAX));
    facts.preempts = spec["preemptionPolicy"].text_or("") != "Never";
    facts.finished = phase == "Succeeded" || phase == "Failed";
    facts.terminating = metadata["deletionTimestamp"].present();
    facts.gated = !spec["schedulingGates"].elements().empty();
    read_containers(spec["initContainers"], true, facts.containers);
    read_containers(spec["containers"], false, facts.containers);
    facts.created = metadata["creationTimestamp"].text_or("");
    facts.host = read_host_request(spec);
    const JsonValue annotations = metadata["annotations"];
    apply_count_label(metadata["labels"], facts.containers);
    apply_cores_limit(annotations, facts.containers);
    facts.started = any_created(pod["status"], facts.containers);
    if (const auto text = annotations[key::kAllocation].text()) {
        facts.allocation =
            read_allocation_of(facts.uid, *text, annotations[key::kAllocationMac].text(), seal);
    }
    if (facts.containers.empty()) return facts;
    read_gang(metadata, spec, facts);
    facts.policy = annotations[kPlacementPolicy].text_or("");
    facts.gpu_rules = {.models = annotations[kGpuModels].text_or(""),
                       .uuids = annotations[kGpuUuids].text_or(""),
                       .apart = annotations[kGpuApart].text_or(""),
                       .together = annotations[kGpuTogether].text_or(""),
                       .links = annotations[kGpuLinks].text_or("")};
    facts.unknown_annotations = unknown_annotations(annotations);
    facts.legacy = read_legacy(annotations);
    facts.is_guarded = annotations[key::kEnforcedBy].text_or("") == key::kGuard;
    if (const auto requested = annotations[key::kResize].text()) {
        const std::string refusal = annotations[key::kResizeRefused].text_or("");
        if (!is_refusal_of(refusal, *requested)) facts.resize = read_resize_request(*requested);
    }
    return facts;
}

bool has_preferences(JsonValue pod) {
    const JsonValue spec = pod["spec"];
    const JsonValue affinity = spec["affinity"];
    for (const std::string_view kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
        const JsonValue rules = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"];
        if (!rules.elements().empty()) return true;
    }
    return std::ranges::any_of(spec["topologySpreadConstraints"].elements(), [](JsonValue rule) {
        return rule["whenUnsatisfiable"].text_or("") == "ScheduleAnyway";
    });
}

NodeInventory read_node(JsonValue json) {
    NodeInventory node;
    node.name = NodeName(json["metadata"]["name"].text_or(""));
    for (const JsonValue address : json["status"]["addresses"].elements()) {
        if (address["type"].text_or("") != "InternalIP") continue;
        node.address = address["address"].text_or("");
        break;
    }
    node.host = read_host_amounts(json["status"]["allocatable"]);
    const JsonValue capacity = json["status"]["capacity"];
    node.gpu_mem = amount(capacity, resource::kAliyunMem);
    const auto annotation = json["metadata"]["annotations"][key::kGpus].text();
    if (!annotation) {
        read_legacy_node(capacity, node);
        return node;
    }
    auto gpus = read_node_gpus(*annotation);
    if (!gpus) {
        node.fault = gpus.error().text;
        return node;
    }
    node.unit = gpus->unit;
    node.shares = gpus->shares;
    node.enforcement_fault = std::move(gpus->enforcement_fault);
    node.handover_fault = std::move(gpus->handover_fault);
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

namespace {

void write_annotations(JsonWriter& w, const Annotations& annotations) {
    w.object("annotations", [&] {
        for (const auto& [key, value] : annotations) {
            if (value.empty()) {
                w.raw_member(key, "null");
            } else {
                w.member(key, value);
            }
        }
    });
}

}  // namespace

std::string write_annotations_patch(const Annotations& annotations) {
    JsonWriter w;
    w.object([&] { w.object("metadata", [&] { write_annotations(w, annotations); }); });
    return w.take();
}

std::string write_annotations_patch(const PodUid& uid, std::string_view resource_version,
                                    const Annotations& annotations) {
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.member("uid", uid.str());
            if (!resource_version.empty()) w.member("resourceVersion", resource_version);
            write_annotations(w, annotations);
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

}  // namespace tessera
