#include "app/agent/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/log.hpp"
#include "domain/request/dialect.hpp"
#include "wire/allocation_json.hpp"
#include "wire/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kHandedOver = "TESSERA_GPU_MEMORY_BYTES=";

constexpr std::string_view kNoAllocation =
    "Tessera: this container asks for a GPU, but the pod was not placed by Tessera: no {} "
    "annotation for it. "
    "Is kube-scheduler configured with Tessera's extender, and is spec.nodeName left empty? Mend "
    "that, then "
    "delete the pod";

constexpr std::string_view kShareKind = "tessera.dev/share=";

// 128 random bits: a name that no other Allocate ever gave.
std::string fresh_share_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

tl::unexpected<Error> refuse(const Error& error) {
    return fail(error.in("Tessera"));
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

Result<ContainerEdits> Gate::edits_for(const Allocation& allocation, const PodUid& pod,
                                       const std::string& container) {
    const auto inventory = ports_.cards.inventory();
    auto handover = hand_over(allocation, pod, node_, container, *inventory);
    if (!handover) return refuse(handover.error());
    ContainerEdits edits{std::move(handover->env), {}};
    for (const Gpu& gpu : handover->gpus) {
        auto device = ports_.cdi.vendor_device(gpu.uuid, gpu.minor);
        if (device) edits.cdi_devices.push_back(*std::move(device));
    }
    return edits;
}

Result<bool> Gate::holds_devices(const PodUid& pod, const std::string& container) {
    TRY(const auto holders, ports_.holders.list());
    return std::ranges::any_of(holders, [&](const DeviceHolder& holder) {
        return holder.pod == pod && holder.container == container &&
               is_gpu_resource(holder.resource);
    });
}

Result<ContainerEdits> Gate::decide(const RuntimeContainer& container) {
    const auto annotation = container.pod_annotations.find(key::kAllocation);
    if (annotation != container.pod_annotations.end()) {
        const auto allocation = read_allocation(annotation->second);
        if (!allocation) return refuse(allocation.error());
        const bool named = std::ranges::any_of(allocation->containers, [&](const auto& given) {
            return given.container == container.name;
        });
        if (named) {
            const auto times =
                std::ranges::count_if(container.env, [](const std::string& variable) {
                    return variable.starts_with(std::string(kVisibleDevices) + "=");
                });
            // The runtime replaces the first entry only; the second would win inside the container.
            if (times > 1) {
                return refuse({Code::invalid_argument,
                               fmt::format("container {} sets {} {} times; remove it from the pod",
                                           container.name, kVisibleDevices, times)});
            }
            return edits_for(*allocation, container.pod_uid, container.name);
        }
    }
    TRY(const bool holds, holds_devices(container.pod_uid, container.name));
    if (holds) return fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
    return ContainerEdits{};
}

Result<ContainerEdits> Gate::complete(const RuntimeContainer& container) {
    auto edits = decide(container);
    if (!edits) {
        log_event(Event::container_refused, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"reason", edits.error().text}});
    } else if (!edits->env.empty()) {
        log_event(Event::container_completed, {{"pod", container.pod.str()},
                                               {"container", container.name},
                                               {"gpus", edits->env.front().second}});
    }
    return edits;
}

std::vector<Eviction> Gate::synchronize(const std::vector<RuntimeContainer>& containers) {
    std::vector<Eviction> evictions;
    for (const RuntimeContainer& container : containers) {
        const auto annotation = container.pod_annotations.find(key::kAllocation);
        if (!container.running || annotation == container.pod_annotations.end()) continue;
        const auto allocation = read_allocation(annotation->second);
        const bool named =
            allocation && std::ranges::any_of(allocation->containers, [&](const auto& c) {
                return c.container == container.name;
            });
        const bool handed = std::ranges::any_of(container.env, [](const std::string& variable) {
            return variable.starts_with(kHandedOver);
        });
        if (!named || handed) continue;
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
    if (linked_) return {};
    return fail(
        Code::unavailable,
        "Tessera: the agent has no NRI connection to the container runtime, so the container could "
        "not be given its share; it starts once the connection is back. Is NRI enabled in "
        "the runtime (containerd 2: on by default)? If the runtime has none, set the agent's "
        "identity to kubelet");
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
        TRY_VOID(make_share(holder, *pod));
        made = true;
    }
    ports_.cdi.keep_only_shares(names);
    if (made) return {};
    return fail(Code::unavailable,
                "Tessera: kubelet's checkpoint does not name the container of these devices");
}

Result<> Gate::make_share(const DeviceHolder& holder, const PodFacts& pod) {
    Result<ContainerEdits> edits =
        fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
    if (pod.allocation) {
        edits = *pod.allocation ? edits_for(**pod.allocation, pod.uid, holder.container)
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
    log_event(Event::container_completed, {{"pod", pod.name.str()},
                                           {"container", holder.container},
                                           {"gpus", edits->env.front().second}});
    return {};
}

}  // namespace tessera
