#include "app/agent/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "domain/request/dialect.hpp"
#include "wire/allocation_json.hpp"
#include "wire/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kHandedOver = "TESSERA_GPU_MEMORY_BYTES=";

constexpr std::string_view kNoAllocation =
    "Tessera: this container asks for a GPU, but the pod was not placed by Tessera: no {} annotation for it. "
    "Is kube-scheduler configured with Tessera's extender, and is spec.nodeName left empty? Mend that, then "
    "delete the pod";

// FNV-1a, 64 bits: a short, stable name for a set of device ids. Not a defence: the ids are kubelet's.
std::uint64_t hash(std::vector<std::string> ids) {
    std::ranges::sort(ids);
    std::uint64_t value = 14695981039346656037ULL;
    for (const std::string& id : ids) {
        for (const char c : id + "\n") {
            value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        }
    }
    return value;
}

std::string share_name(const std::vector<std::string>& ids) {
    return fmt::format("{:016x}", hash(ids));
}

tl::unexpected<Error> refuse(const Error& error) { return fail(error.in("Tessera")); }

}  // namespace

std::string_view identity_name(Identity identity) {
    return identity == Identity::nri ? "nri" : "pod-resources";
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
        auto device = ports_.cdi.vendor_device(gpu.uuid.str(), gpu.index);
        if (device) edits.cdi_devices.push_back(*std::move(device));
    }
    return edits;
}

Result<bool> Gate::holds_devices(const PodName& pod, const std::string& container) {
    TRY(const auto holders, ports_.pod_resources.list());
    return std::ranges::any_of(holders, [&](const DeviceHolder& holder) {
        return holder.pod == pod && holder.container == container && is_gpu_resource(holder.resource);
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
            const auto times = std::ranges::count_if(container.env, [](const std::string& variable) {
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
    TRY(const bool holds, holds_devices(container.pod, container.name));
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
        const bool named = allocation && std::ranges::any_of(allocation->containers, [&](const auto& c) {
                               return c.container == container.name;
                           });
        const bool handed = std::ranges::any_of(container.env, [](const std::string& variable) {
            return variable.starts_with(kHandedOver);
        });
        if (!named || handed) continue;
        evictions.push_back({container.id, "started while Tessera's agent was away, without its share"});
        log_event(Event::container_ended,
                  {{"pod", container.pod.str()}, {"container", container.name}});
    }
    return evictions;
}

Result<std::vector<std::string>> Gate::allocate(const std::string&,
                                                const std::vector<std::string>& ids) {
    if (identity_ == Identity::nri) return std::vector<std::string>{};
    return std::vector<std::string>{"tessera.dev/share=" + share_name(ids)};
}

Result<> Gate::pre_start(const std::string& resource, const std::vector<std::string>& ids) {
    if (identity_ == Identity::pod_resources) return bind_share(resource, ids);
    if (linked_) return {};
    return fail(Code::unavailable,
                "Tessera: the agent has no NRI connection to the container runtime, so the container could "
                "not be given its share; it starts once the connection is back. Is NRI enabled in "
                "the runtime (containerd 2: on by default)? If the runtime has none, set the agent's "
                "identity to pod-resources");
}

Result<> Gate::bind_share(const std::string& resource, const std::vector<std::string>& ids) {
    TRY(const auto holders, ports_.pod_resources.list());
    std::vector<std::string> sorted = ids;
    std::ranges::sort(sorted);
    const auto holder = std::ranges::find_if(holders, [&](const DeviceHolder& h) {
        if (h.resource != resource) return false;
        std::vector<std::string> theirs = h.ids;
        std::ranges::sort(theirs);
        return std::ranges::includes(theirs, sorted);
    });
    if (holder == holders.end()) {
        return fail(Code::unavailable, "Tessera: kubelet does not say yet which container starts");
    }
    TRY(const PodFacts pod, ports_.kube.get_pod(holder->pod));
    Result<ContainerEdits> edits = fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
    if (pod.allocation) {
        edits = *pod.allocation ? edits_for(**pod.allocation, pod.uid, holder->container)
                                : Result<ContainerEdits>(refuse(pod.allocation->error()));
    }
    if (!edits) {
        log_event(Event::container_refused, {{"pod", pod.name.str()},
                                             {"container", holder->container},
                                             {"reason", edits.error().text}});
        return fail(edits.error());
    }
    TRY_VOID(ports_.cdi.write_share(share_name(ids), *edits));
    log_event(Event::container_completed, {{"pod", pod.name.str()},
                                           {"container", holder->container},
                                           {"gpus", edits->env.front().second}});
    return {};
}

}  // namespace tessera
