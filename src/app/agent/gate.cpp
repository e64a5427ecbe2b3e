#include "app/agent/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <span>

#include "app/agent/held_shares.hpp"
#include "base/log.hpp"
#include "domain/request/dialect.hpp"
#include "wire/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNoAllocation =
    "Tessera: this container asks for a GPU, but the pod was not placed by Tessera: no {} "
    "annotation for it. "
    "Is kube-scheduler configured with Tessera's extender, and is spec.nodeName left empty? Mend "
    "that, then "
    "delete the pod";

constexpr std::string_view kNoDevices =
    "container {} was given no GPU device by kubelet, so the share that the annotation {} names is "
    "not for it: either the container does not ask for one (tessera.dev/gpu, aliyun.com/gpu-mem), "
    "or kubelet admitted the pod before it knew this agent. Delete the pod, and leave the "
    "annotation to Tessera";

constexpr std::string_view kUnknownDevices =
    "Tessera: kubelet's checkpoint does not name the container of these devices; kubelet was asked "
    "to write it anew, and tries again by itself";

// What a vendor's CDI spec may put in place of our list of cards, since it brings them itself.
constexpr std::string_view kVoid = "void";

constexpr std::string_view kShareKind = "tessera.dev/share=";

// 128 random bits: a name that no other Allocate ever gave.
std::string fresh_share_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

tl::unexpected<Error> refuse(const Error& error) {
    return fail(error.in("Tessera"));
}

std::optional<std::string_view> annotation(const RuntimeContainer& container,
                                           std::string_view key) {
    const auto at = container.pod_annotations.find(key);
    if (at == container.pod_annotations.end()) return std::nullopt;
    return at->second;
}

// The values that a container's environment has for `name`.
std::vector<std::string> values_of(const RuntimeContainer& container, std::string_view name) {
    std::vector<std::string> values;
    for (const std::string& variable : container.env) {
        if (variable.starts_with(std::string(name) + "="))
            values.push_back(variable.substr(name.size() + 1));
    }
    return values;
}

// True when the container runs with exactly what this allocation hands over. The pod's own
// environment may name our variables, so each must stand once and with our value; where the pod was
// resized, the amounts are those of whenever the container started.
bool was_handed(const RuntimeContainer& container, const Allocation& allocation,
                std::span<const Gpu> gpus, bool is_resized) {
    const ContainerAllocation* share = find_container(allocation, container.name);
    if (share == nullptr || allocation.pod != container.pod_uid) return false;
    return std::ranges::all_of(share_env(*share, gpus), [&](const auto& variable) {
        const auto values = values_of(container, variable.first);
        if (values.size() != 1) return false;
        if (is_resized && variable.first == kMemoryBytes) return true;
        return values[0] == variable.second ||
               (variable.first == kVisibleDevices && values[0] == kVoid);
    });
}

}  // namespace

std::string_view identity_name(Identity identity) {
    return identity == Identity::nri ? "nri" : "kubelet";
}

Gate::Gate(GatePorts ports, NodeName node, Identity identity)
    : ports_(ports), node_(std::move(node)), identity_(identity) {}

void Gate::on_link(bool connected, const std::string& detail) {
    linked_ = connected;
    log_event(connected ? Event::nri_connected : Event::nri_lost, {{"detail", detail}});
}

// The pod may have been resized since.
Result<Allocation> Gate::newest_of(const Allocation& allocation, const PodUid& pod) const {
    if (ports_.limits == nullptr) return allocation;
    const auto kept = ports_.limits->kept(pod);
    if (!kept) return refuse(kept.error());
    return *kept && is_resize_of(allocation, **kept) ? **kept : allocation;
}

Result<ContainerEdits> Gate::edits_for(const Allocation& allocation,
                                       const HeldContainer& container) {
    const auto inventory = ports_.cards.inventory();
    TRY(const Allocation newest, newest_of(allocation, container.pod));
    auto handover = hand_over(newest, container.pod, node_, container.container, *inventory);
    if (!handover) return refuse(handover.error());
    TRY(auto mounts, hold(*find_container(newest, container.container), container, handover->gpus));
    ContainerEdits edits{std::move(handover->env), {}, std::move(mounts)};
    for (const Gpu& gpu : handover->gpus) {
        auto device = ports_.cdi.vendor_device(gpu.uuid, gpu.minor);
        if (device) edits.cdi_devices.push_back(*std::move(device));
    }
    return edits;
}

Result<std::vector<FileMount>> Gate::hold(const ContainerAllocation& share,
                                          const HeldContainer& container,
                                          const std::vector<Gpu>& gpus) {
    if (ports_.holder == nullptr || !has_share(share)) return std::vector<FileMount>{};
    std::vector<HeldShare> shares = held_shares(share);
    // A share may name its card by its index.
    for (std::size_t i = 0; i < gpus.size(); i++)
        shares[i].card = gpus[i].uuid;
    auto mounts = ports_.holder->hold(container, shares);
    if (!mounts) return refuse(mounts.error());
    return mounts;
}

Result<Gate::Judgement> Gate::judge(const RuntimeContainer& container, const Record& record,
                                    const AllocationSeal* seal) {
    Judgement out;
    if (const auto text = annotation(container, key::kAllocation)) {
        auto allocation =
            read_sealed_allocation(*text, annotation(container, key::kAllocationMac), seal);
        if (!allocation) return refuse(allocation.error());
        if (find_container(*allocation, container.name) != nullptr)
            out.allocation = *std::move(allocation);
    }
    if (!record) {
        if (out.allocation) return refuse(record.error());
        // One of those that ask for no GPU, the network's among them: the node must live. One that
        // holds devices has just been refused by pre_start.
        return out;
    }
    const auto holder = std::ranges::find_if(*record, [&](const DeviceHolder& entry) {
        return entry.pod == container.pod_uid && entry.container == container.name &&
               is_gpu_resource(entry.resource);
    });
    const bool holds = holder != record->end();
    if (holds && holder->by_gpushare) {
        out.standing = Standing::gpushares;
    } else if (out.allocation) {
        out.standing = holds ? Standing::placed : Standing::undue;
    } else if (holds) {
        out.standing = Standing::unplaced;
    }
    return out;
}

Result<ContainerEdits> Gate::decide(const RuntimeContainer& container) {
    const Record record = ports_.holders.list();
    TRY(const Judgement judged, judge(container, record, ports_.seal));
    if (!record) {
        log_event(Event::record_unreadable, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"reason", record.error().text}});
    }
    switch (judged.standing) {
        case Standing::plain:
        case Standing::gpushares:  // kubelet hands over what it was given then
            return ContainerEdits{};
        case Standing::unplaced:
            return fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
        case Standing::undue:
            // Should the record have lost the container, the next try works.
            ports_.plugins.refresh_record();
            return refuse(
                {Code::conflict, fmt::format(kNoDevices, container.name, key::kAllocation)});
        case Standing::placed:
            break;
    }
    // The runtime replaces the first entry only; the second would win inside the container.
    const auto times = values_of(container, kVisibleDevices).size();
    if (times > 1) {
        return refuse({Code::invalid_argument,
                       fmt::format("container {} sets {} {} times; remove it from the pod",
                                   container.name, kVisibleDevices, times)});
    }
    return edits_for(*judged.allocation, {container.pod_uid, container.pod, container.name});
}

Result<ContainerEdits> Gate::complete(const RuntimeContainer& container) {
    auto edits = decide(container);
    if (!edits) {
        log_event(Event::container_refused, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"reason", edits.error().text}});
    } else if (!edits->env.empty()) {
        log_event(Event::cards_handed_over, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"gpus", edits->env.front().second}});
    }
    return edits;
}

// Where that cannot be read it may have been.
bool Gate::was_resized(const PodUid& pod) const {
    if (ports_.limits == nullptr) return false;
    const auto kept = ports_.limits->kept(pod);
    return !kept || kept->has_value();
}

// Only what is known to run without its share ends. What cannot be judged goes on: a record that
// cannot be read, or an annotation of a newer Tessera, must not take a node's work down. So does a
// share without devices: that container was never given a card. What a container was handed is seen
// in its environment, whoever signed for it: a wrong key must not take the node's work down either.
std::vector<Eviction> Gate::synchronize(const std::vector<RuntimeContainer>& containers) {
    std::vector<Eviction> evictions;
    const Record record = ports_.holders.list();
    const auto inventory = ports_.cards.inventory();
    for (const RuntimeContainer& container : containers) {
        if (!container.running) continue;
        const auto judged = judge(container, record, nullptr);
        if (!judged) continue;
        const bool without_share = judged->standing == Standing::placed &&
                                   !was_handed(container, *judged->allocation, inventory->gpus,
                                               was_resized(container.pod_uid));
        if (!without_share && judged->standing != Standing::unplaced) continue;
        evictions.push_back(
            {container.id, "started while Tessera's agent was away, without its share"});
        log_event(Event::container_ended,
                  {{"pod", container.pod.str()}, {"container", container.name}});
    }
    return evictions;
}

Result<std::vector<std::string>> Gate::allocate(const std::string&,
                                                const std::vector<std::string>&) {
    if (identity_ == Identity::nri) return std::vector<std::string>{};
    return std::vector<std::string>{std::string(kShareKind) + fresh_share_name()};
}

Result<> Gate::pre_start(const std::string& resource, const std::vector<std::string>& ids) {
    if (identity_ == Identity::kubelet) return make_shares(resource, {ids.begin(), ids.end()});
    if (linked_) return check_known(resource, {ids.begin(), ids.end()});
    return fail(
        Code::unavailable,
        "Tessera: the agent has no NRI connection to the container runtime, so the container could "
        "not be given its share; it starts once the connection is back. Is NRI enabled in "
        "the runtime (containerd 2: on by default)? If the runtime has none, set the agent's "
        "identity to kubelet");
}

// Either kubelet's record is stale for good, until something is written again, or this is no
// question of kubelet's.
tl::unexpected<Error> Gate::unknown_devices() {
    ports_.plugins.refresh_record();
    return fail(Code::unavailable, std::string(kUnknownDevices));
}

// Kubelet asks this for exactly the containers that hold devices, right before it has them created.
// `complete` lets pass what the record does not show, so a container with devices must be in it.
Result<> Gate::check_known(const std::string& resource, const std::set<std::string>& ids) {
    const auto record = ports_.holders.list();
    if (!record) return refuse(record.error());
    const bool known = std::ranges::any_of(*record, [&](const DeviceHolder& holder) {
        return holder.resource == resource && holder.ids == ids;
    });
    if (known) return {};
    return unknown_devices();
}

// An init container and the app container that inherits its devices may both have this set of ids:
// each has a name of its own, and both are made.
Result<> Gate::make_shares(const std::string& resource, const std::set<std::string>& ids) {
    TRY(const auto pods, ports_.kube.list_pods(node_));
    // Two containers may start at once: a share that one makes is not in what the other has read.
    const std::scoped_lock lock(shares_mutex_);
    TRY(const auto holders, ports_.holders.list());
    std::set<std::string> names;
    bool made = false;
    for (const DeviceHolder& holder : holders) {
        for (const std::string& device : holder.cdi_devices) {
            if (device.starts_with(kShareKind)) names.insert(device.substr(kShareKind.size()));
        }
        if (holder.resource != resource || holder.ids != ids) continue;
        const auto pod = std::ranges::find(pods, holder.pod, &PodFacts::uid);
        // Kubelet forgets ended pods late.
        if (pod == pods.end() || pod->finished) continue;
        if (!holder.by_gpushare) TRY_VOID(make_share(holder, *pod));
        made = true;
    }
    ports_.cdi.keep_only_shares(names);
    if (made) return {};
    return unknown_devices();
}

Result<> Gate::make_share(const DeviceHolder& holder, const PodFacts& pod) {
    Result<ContainerEdits> edits =
        fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
    if (pod.allocation) {
        edits = *pod.allocation ? edits_for(**pod.allocation, {pod.uid, pod.name, holder.container})
                                : Result<ContainerEdits>(refuse(pod.allocation->error()));
    }
    if (!edits) {
        log_event(Event::container_refused, {{"pod", pod.name.str()},
                                             {"container", holder.container},
                                             {"reason", edits.error().text}});
        return fail(edits.error());
    }
    for (const std::string& device : holder.cdi_devices) {
        if (!device.starts_with(kShareKind)) continue;
        TRY_VOID(ports_.cdi.write_share(device.substr(kShareKind.size()), *edits));
    }
    log_event(Event::cards_handed_over, {{"pod", pod.name.str()},
                                         {"container", holder.container},
                                         {"gpus", edits->env.front().second}});
    return {};
}

}  // namespace tessera
