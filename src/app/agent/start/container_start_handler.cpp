#include "app/agent/start/container_start_handler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <span>

#include "app/agent/enforcement/enforced_shares.hpp"
#include "app/agent/start/container_devices.hpp"
#include "app/agent/start/injected.hpp"
#include "base/log.hpp"
#include "domain/container_start/mount_conflicts.hpp"
#include "domain/container_start/runtime_support.hpp"
#include "domain/mps/client_environment.hpp"
#include "domain/request/foreign_resources.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNoAllocation =
    "Tessera: this container asks for a GPU, but the pod was not placed by Tessera: no {} "
    "annotation for it. Either spec.schedulerName does not name Tessera's kube-scheduler "
    "(tessera-scheduler with the Helm chart; its webhook sets it), or kube-scheduler has no "
    "extender from Tessera, or spec.nodeName was set. Fix that, then delete the pod";

constexpr std::string_view kNoDevices =
    "container {} was given no GPU device by kubelet, so the share that the annotation {} names is "
    "not for it. Either the container requests no GPU (tessera.dev/gpu, tessera.dev/gpu-share, "
    "aliyun.com/gpu-mem, tencent.com/vcuda-core), "
    "or kubelet admitted the pod before it knew this agent. Delete the pod, and leave the "
    "annotation to Tessera";

constexpr std::string_view kUnknownContainer =
    "kubelet starts container {}, which the pod's specification at the API server does not have, "
    "so its volumes and privileges cannot be checked; delete the pod";

constexpr std::string_view kUnknownDevices =
    "Tessera: kubelet's checkpoint does not name the container of these devices; the agent "
    "asked kubelet to write it again, and kubelet tries again by itself";

constexpr std::string_view kNotInjected =
    "container {}: the runtime ({} {}) did not carry out what Tessera set on it: {}. The container "
    "was kept from starting without its GPU share. Is CDI enabled in the runtime (containerd: "
    "enable_cdi), and does another NRI plugin change the same container?";

// 128 random bits, so that the name is unique to one Allocate call.
std::string fresh_share_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Whether kubelet gave the container a GPU of NVIDIA's or another vendor's device plugin.
bool has_foreign_gpu(const RuntimeContainer& container,
                     const Result<std::vector<DeviceHolder>>& record) {
    return record && std::ranges::any_of(*record, [&](const DeviceHolder& holder) {
               return holder.pod == container.pod_uid && holder.container == container.name &&
                      is_foreign_gpu_resource(holder.resource);
           });
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

// For which the controller placed the pod. What replaces the guard is stronger, so it is not
// required.
std::string_view required_memory_enforcer(const RuntimeContainer& container) {
    const auto enforced_by = annotation(container, key::kEnforcedBy).value_or("");
    return enforced_by == key::kEnforcedByDriverAndGuard ? kDriverEnforcer : std::string_view();
}

}  // namespace

ContainerStartHandler::ContainerStartHandler(ContainerStartPorts ports, NodeName node,
                                             Identity identity, StartRules rules)
    : ports_(std::move(ports)),
      node_(std::move(node)),
      identity_(identity),
      rules_(std::move(rules)) {}

void ContainerStartHandler::on_runtime(const RuntimeIdentity& runtime) {
    const MutexLock lock(runtime_mutex_);
    runtime_ = runtime;
}

RuntimeIdentity ContainerStartHandler::runtime() const {
    const MutexLock lock(runtime_mutex_);
    return runtime_;
}

void ContainerStartHandler::on_link(bool connected, const std::string& detail) {
    linked_ = connected;
    log_event(connected ? Event::nri_connected : Event::nri_lost, {{"detail", detail}});
}

Result<> ContainerStartHandler::ready() const {
    if (identity_ == Identity::kubelet || linked_) return {};
    return fail(Code::unavailable, "the container runtime is not connected over NRI");
}

// Returns the allocation kept on the node if it is a later resize of this one.
Result<Allocation> ContainerStartHandler::newest_of(const Allocation& allocation,
                                                    const PodUid& pod) const {
    if (ports_.resized == nullptr) return allocation;
    const auto kept = ports_.resized->kept(pod);
    if (!kept) return refuse(kept.error());
    return *kept && is_resize_of(allocation, **kept) ? **kept : allocation;
}

Result<ContainerEdits> ContainerStartHandler::edits_for(const Allocation& allocation,
                                                        const Starting& container) {
    if (auto checked = check_setup(container.setup, rules_); !checked)
        return refuse(checked.error());
    const auto inventory = ports_.gpus.inventory();
    TRY(const Allocation newest, newest_of(allocation, container.pod));
    auto gpu_edits =
        container_edits(newest, container.pod, node_, container.setup.name, *inventory);
    if (!gpu_edits) return refuse(gpu_edits.error());
    TRY(auto devices, devices_for(gpu_edits->gpus, container.setup));
    const ContainerAllocation& share = *find_container(newest, container.setup.name);
    if (auto ready = check_modes(share, gpu_edits->gpus); !ready) return refuse(ready.error());
    TRY(auto enforced, enforce(share, container, gpu_edits->gpus));
    auto& [edits, shows_share] = enforced;
    // The list of the GPUs stays first.
    std::vector<std::pair<std::string, std::string>> env = std::move(gpu_edits->env);
    std::ranges::copy(size_env(newest, share, *inventory, std::move(gpu_edits->gpus), shows_share),
                      std::back_inserter(env));
    edits.env.insert(edits.env.begin(), env.begin(), env.end());
    edits.cdi_devices.insert(edits.cdi_devices.begin(), devices.begin(), devices.end());
    if (container.setup.is_privileged)
        std::ranges::copy(privileged_env(edits.env.front().second), std::back_inserter(edits.env));
    return edits;
}

Result<> ContainerStartHandler::check_modes(const ContainerAllocation& share,
                                            const std::vector<Gpu>& gpus) const {
    if (ports_.modes != nullptr) return ports_.modes->check(share, gpus);
    if (std::ranges::none_of(share.gpus, &GpuShare::mps)) return {};
    return fail(Code::unsupported,
                "the pod asks for NVIDIA MPS (tessera.dev/isolation), and the agent of this node "
                "does not offer it (mps_folder; mps.enabled of the Helm chart); delete the pod");
}

Result<std::vector<std::string>> ContainerStartHandler::devices_for(const std::vector<Gpu>& gpus,
                                                                    const ContainerSetup& setup) {
    std::vector<std::string> names;
    for (const Gpu& gpu : gpus) {
        auto device = ports_.cdi.vendor_device(gpu.uuid, gpu.minor);
        if (device) {
            names.push_back(std::move(device->name));
        } else if (!reads_visible_devices(setup.runtime_handler, rules_.environment_handlers)) {
            return refuse(
                {Code::unavailable,
                 fmt::format("the GPU cannot be handed over: {}. Generate the specification "
                             "(nvidia-ctk cdi generate), name its kind (--cdi-kind), or give the "
                             "pod a runtimeClassName whose runtime injects GPUs ({}). If the "
                             "node's default runtime injects them, add default to the agent's "
                             "--environment-handlers",
                             device.error().text, fmt::join(rules_.environment_handlers, ", "))});
        }
    }
    if (names.empty() || identity_ != Identity::nri) return names;
    const RuntimeIdentity by = runtime();
    if (auto carried = check_cdi_from_nri(by.name, by.version); !carried)
        return refuse(carried.error());
    return names;
}

Result<ContainerStartHandler::Enforced> ContainerStartHandler::enforce(
    const ContainerAllocation& share, const Starting& container, const std::vector<Gpu>& gpus) {
    if (!has_share(share)) return Enforced{};
    if (ports_.enforcers.empty() && container.memory_by.empty()) return Enforced{};
    std::vector<EnforcedShare> shares = enforced_shares(share);
    // A share may name its GPU by index.
    for (std::size_t i = 0; i < gpus.size(); i++) {
        shares[i].gpu = gpus[i].uuid;
        if (shares[i].mps) {
            shares[i].most_multiprocessors =
                most_multiprocessors(gpus[i].multiprocessors, shares[i].cores);
        }
    }
    EnforcedContainer target{.pod = container.pod,
                             .name = container.name,
                             .container = container.setup.name,
                             .cgroup_path = container.cgroup_path,
                             .user_id = container.user_id};
    const auto choice = ports_.enforcers.choose(target, shares, container.memory_by);
    if (!choice) return refuse(choice.error());
    const auto merged =
        check_mounts(container.setup, choice->mount_points(), rules_.preload_merge_from);
    if (!merged) return refuse(merged.error());
    if (*merged) target.preload_list = (*merged)->source;
    auto edits = ports_.enforcers.prepare(*choice, target, shares);
    if (!edits) return refuse(edits.error());
    return Enforced{*std::move(edits), choice->shows_share()};
}

Result<ContainerStartHandler::Judgement> ContainerStartHandler::judge(
    const RuntimeContainer& container, const Record& record, const AllocationSeal* seal) const {
    const Dialects& dialects = *ports_.dialects;
    Judgement out;
    if (const auto text = annotation(container, key::kAllocation)) {
        auto allocation = read_sealed_allocation(*text, annotation(container, key::kAllocationMac),
                                                 seal, dialects);
        if (!allocation) return refuse(allocation.error());
        if (find_container(*allocation, container.name) != nullptr)
            out.allocation = *std::move(allocation);
    }
    if (!record) {
        if (out.allocation) return refuse(record.error());
        // Without an allocation the container passes: it most likely asks for no GPU. The network
        // plugin's containers are among these, so refusing them would take the node down. A
        // container that has devices was already refused by pre_start.
        return out;
    }
    const ContainerDevices has = devices_of(*record, container.pod_uid, container.name, dialects);
    // In a dialect without resources, kubelet gives the container no devices. Then only the
    // signature says that the share is due.
    const bool needs_devices =
        seal == nullptr || (out.allocation && !out.allocation->dialect->device_lists.empty());
    if (has.by_former_plugin) {
        out.share = ShareState::former_plugin;
    } else if (out.allocation) {
        out.share = has.any || !needs_devices ? ShareState::allocated : ShareState::allocation_only;
    } else if (has.any) {
        out.share = ShareState::devices_only;
    }
    return out;
}

Result<ContainerEdits> ContainerStartHandler::decide(const RuntimeContainer& container) {
    const Record record = ports_.holders.list();
    TRY(const Judgement judged, judge(container, record, ports_.seal));
    if (!record) {
        log_event(Event::record_unreadable, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"reason", record.error().text}});
    }
    switch (judged.share) {
        case ShareState::none:
            // Another device plugin's GPUs: what kubelet hands over for them is left unchanged.
            if (has_foreign_gpu(container, record)) return ContainerEdits{};
            return edits_without_gpus(container, record);
        case ShareState::former_plugin:  // kubelet hands over what that plugin gave it
            return ContainerEdits{};
        case ShareState::devices_only:
            return fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
        case ShareState::allocation_only:
            // If kubelet's record has lost the container, the next try works.
            ports_.plugins.refresh_record();
            return refuse(
                {Code::conflict, fmt::format(kNoDevices, container.name, key::kAllocation)});
        case ShareState::allocated:
            break;
    }
    if (std::ranges::any_of(find_container(*judged.allocation, container.name)->gpus,
                            &GpuShare::mps)) {
        if (auto own = check_mps_env(container.name, container.env); !own)
            return refuse(own.error());
    }
    TRY(auto edits,
        edits_for(*judged.allocation,
                  {container.pod_uid, container.pod, container.setup, container.cgroup_path,
                   container.user_id, required_memory_enforcer(container)}));
    // The runtime replaces only the first entry; the second one would take effect in the container.
    for (const auto& [name, value] : edits.env) {
        const auto times = values_of(container.env, name).size();
        if (times <= 1) continue;
        return refuse({Code::invalid_argument,
                       fmt::format("container {} sets {} {} times; remove it from the pod",
                                   container.name, name, times)});
    }
    return edits;
}

Result<ContainerEdits> ContainerStartHandler::edits_without_gpus(const RuntimeContainer& container,
                                                                 const Record& record) {
    auto env = environment_without_gpus(container.setup, container.env, container.pod.ns, rules_);
    if (!env) return refuse(env.error());
    // The GPUs may come from another device plugin, through kubelet, or only from the image's
    // environment.
    if (!record && !env->empty() && names_specific_gpus(container.env)) {
        return refuse(
            record.error().in(fmt::format("container {} names GPUs in {}, and the agent cannot "
                                          "tell whether kubelet gave it these",
                                          container.name, kVisibleDevices)));
    }
    if (!env->empty()) {
        log_event(Event::gpus_hidden,
                  {{"pod", container.pod.str()}, {"container", container.name}});
    }
    return ContainerEdits{*std::move(env), {}, {}};
}

// The runtime may not have done what we asked: versions that drop CDI devices, or have CDI switched
// off, start the container all the same. So the agent checks the container before its program runs.
Result<> ContainerStartHandler::verify(const RuntimeContainer& container) {
    // Without an allocation there is nothing to compare, so kubelet's record need not be read.
    if (!annotation(container, key::kAllocation)) return {};
    const auto judged = judge(container, ports_.holders.list(), ports_.seal);
    if (judged && judged->share != ShareState::allocated) return {};
    auto checked = judged ? check_injected(container, *judged->allocation)
                          : Result<>(tl::unexpected(judged.error()));
    if (checked) {
        note_verified(container);
        return {};
    }
    log_event(Event::container_refused, {{"pod", container.pod.str()},
                                         {"container", container.name},
                                         {"reason", checked.error().text}});
    // On this error containerd does not start the container. CRI-O logs the error and starts it.
    watch_unshared(container, checked.error().text);
    return checked;
}

void ContainerStartHandler::note_completed(const RuntimeContainer& container) {
    const MutexLock lock(unverified_mutex_);
    unverified_.insert_or_assign({container.pod_uid, container.name}, container.id);
}

void ContainerStartHandler::note_verified(const RuntimeContainer& container) {
    const MutexLock lock(unverified_mutex_);
    unverified_.erase({container.pod_uid, container.name});
}

bool ContainerStartHandler::is_unverified(const RuntimeContainer& container) const {
    const MutexLock lock(unverified_mutex_);
    const auto noted = unverified_.find({container.pod_uid, container.name});
    return noted != unverified_.end() && noted->second == container.id;
}

// Forgets containers that were never created or are gone.
void ContainerStartHandler::forget_unverified_but(const std::vector<RuntimeContainer>& containers) {
    const MutexLock lock(unverified_mutex_);
    std::erase_if(unverified_, [&](const auto& noted) {
        return std::ranges::find(containers, noted.second, &RuntimeContainer::id) ==
               containers.end();
    });
}

Result<> ContainerStartHandler::check_injected(const RuntimeContainer& container,
                                               const Allocation& allocation) {
    const auto not_injected = [&](std::string_view what) {
        const RuntimeIdentity by = runtime();
        return refuse(
            {Code::conflict, fmt::format(kNotInjected, container.name, by.name, by.version, what)});
    };
    const auto inventory = ports_.gpus.inventory();
    if (!was_injected(container, allocation, inventory->gpus, was_resized(container.pod_uid)))
        return not_injected("the environment");
    const ContainerAllocation& share = *find_container(allocation, container.name);
    if (auto devices = check_devices(container, share, inventory->gpus, ports_.cdi); !devices)
        return not_injected(devices.error().text);
    if (ports_.enforcers.empty() || !has_share(share)) return {};
    const EnforcedContainer target{.pod = container.pod_uid,
                                   .name = container.pod,
                                   .container = container.name,
                                   .cgroup_path = container.cgroup_path,
                                   .user_id = container.user_id};
    auto applied = ports_.enforcers.apply(target, container.pid);
    if (!applied) return refuse(applied.error());
    // If the runtime does not name the process, the mounts are not checked (docs/limits.md).
    if (container.pid == 0) return {};
    auto in_force = ports_.enforcers.verify(target, container.pid);
    if (!in_force) return refuse(in_force.error());
    watch_mounts(container, allocation);
    return {};
}

void ContainerStartHandler::watch_mounts(const RuntimeContainer& container,
                                         const Allocation& allocation) {
    const ContainerAllocation* share = find_container(allocation, container.name);
    if (ports_.mounts == nullptr || share == nullptr || !has_share(*share)) return;
    ports_.mounts->started({container.pod_uid, container.pod, container.name}, container.pid);
}

Result<ContainerEdits> ContainerStartHandler::on_create_container(
    const RuntimeContainer& container) {
    auto edits = decide(container);
    if (!edits) {
        log_event(Event::container_refused, {{"pod", container.pod.str()},
                                             {"container", container.name},
                                             {"reason", edits.error().text}});
    } else if (!edits->env.empty() && edits->env.front().second != kVoidDevices) {
        log_event(Event::gpus_injected,
                  {{"pod", container.pod.str()},
                   {"container", container.name},
                   {"gpus", edits->env.front().second},
                   {"enforced_by", enforced_by(container.pod_uid, container.name)}});
        note_completed(container);
    }
    return edits;
}

std::string ContainerStartHandler::enforced_by(const PodUid& pod,
                                               const std::string& container) const {
    return ports_.enforcers.enforced_by(pod, container).text();
}

// True also when the kept allocation cannot be read: the pod may have been resized.
bool ContainerStartHandler::was_resized(const PodUid& pod) const {
    if (ports_.resized == nullptr) return false;
    const auto kept = ports_.resized->kept(pod);
    return !kept || kept->has_value();
}

// Reports only containers that are known to run without their share. A container that cannot be
// judged is not reported: a record that cannot be read, or an annotation of a newer Tessera, must
// not take down a node's work. A share without devices is not reported either: that container was
// never given a GPU. The check reads the container's environment and ignores the signature: a wrong
// key must not take down the node's work either.
void ContainerStartHandler::synchronize(const std::vector<RuntimeContainer>& containers) {
    const Record record = ports_.holders.list();
    forget_unverified_but(containers);
    for (const RuntimeContainer& container : containers) {
        if (!container.running) continue;
        const auto judged = judge(container, record, nullptr);
        if (!judged) continue;
        std::string reason = what_it_lacks(container, *judged);
        if (reason.empty()) continue;
        log_event(
            Event::container_unshared,
            {{"pod", container.pod.str()}, {"container", container.name}, {"reason", reason}});
        watch_unshared(container, std::move(reason));
    }
}

void ContainerStartHandler::watch_unshared(const RuntimeContainer& container, std::string reason) {
    if (ports_.unshared == nullptr) return;
    ports_.unshared->found({.id = container.id,
                            .name = container.name,
                            .pod_uid = container.pod_uid,
                            .pod = container.pod,
                            .pid = container.pid,
                            .reason = std::move(reason)});
}

// A container that this agent completed is checked as at its start. One that an earlier agent
// completed is not, because its devices and mounts date from that time.
std::string ContainerStartHandler::what_it_lacks(const RuntimeContainer& container,
                                                 const Judgement& judged) {
    constexpr std::string_view kWithoutShare =
        "started while Tessera's agent was away, without its share";
    if (judged.share == ShareState::devices_only) return std::string(kWithoutShare);
    if (judged.share != ShareState::allocated) return {};
    const Allocation& allocation = *judged.allocation;
    if (!was_injected(container, allocation, ports_.gpus.inventory()->gpus,
                      was_resized(container.pod_uid)))
        return std::string(kWithoutShare);
    if (is_unverified(container)) {
        auto checked = check_injected(container, allocation);
        if (!checked) return checked.error().text;
        note_verified(container);
        return {};
    }
    // Without enforcement at its start, or with the files of another agent, there is nothing to
    // watch.
    if (ports_.enforcers.has_started_enforced(container.pod_uid, container.name,
                                              container.setup.mounts))
        watch_mounts(container, allocation);
    return {};
}

Result<std::vector<std::string>> ContainerStartHandler::allocate(const std::string& resource,
                                                                 const std::vector<std::string>&) {
    if (identity_ == Identity::nri || !gives_share(resource, *ports_.dialects))
        return std::vector<std::string>{};
    return std::vector<std::string>{std::string(kShareKind) + fresh_share_name()};
}

Result<> ContainerStartHandler::pre_start(const std::string& resource,
                                          const std::vector<std::string>& ids) {
    if (identity_ == Identity::kubelet) return make_shares(resource, {ids.begin(), ids.end()});
    if (linked_) {
        TRY(const PodUid pod, check_known(resource, {ids.begin(), ids.end()}));
        wait_for_modes(pod);
        return {};
    }
    return fail(
        Code::unavailable,
        "Tessera: the agent has no NRI connection to the container runtime, so the container could "
        "not be given its share; it starts once the connection is back. Is NRI enabled in "
        "the runtime (containerd 2: on by default)? If the runtime has none, set the agent's "
        "identity to kubelet");
}

// Asks kubelet to write its record again: a record that lost the container stays stale until
// kubelet writes something. Otherwise the call concerns a container that kubelet does not know.
tl::unexpected<Error> ContainerStartHandler::unknown_devices() {
    ports_.plugins.refresh_record();
    return fail(Code::unavailable, std::string(kUnknownDevices));
}

// Kubelet calls this for exactly the containers that hold devices, right before it creates them.
// `on_create_container` lets pass a container that the record does not show, so a container with
// devices must be in the record.
Result<PodUid> ContainerStartHandler::check_known(const std::string& resource,
                                                  const std::set<std::string>& ids) {
    const auto record = ports_.holders.list();
    if (!record) return refuse(record.error());
    const auto known = std::ranges::find_if(*record, [&](const DeviceHolder& holder) {
        return holder.resource == resource && holder.ids == ids;
    });
    if (known == record->end()) return unknown_devices();
    return known->pod;
}

// A GPU changes its mode within seconds, and kubelet would try again only after ten.
void ContainerStartHandler::wait_for_modes(const PodUid& pod) const {
    if (ports_.modes != nullptr) ports_.modes->wait_for(pod);
}

// An init container and the app container that inherits its devices may have the same set of ids.
// Each has its own share name, and both shares are made.
Result<> ContainerStartHandler::make_shares(const std::string& resource,
                                            const std::set<std::string>& ids) {
    if (ports_.modes != nullptr) {
        TRY(const PodUid pod, check_known(resource, ids));
        wait_for_modes(pod);
    }
    TRY(const auto pods, ports_.kube.list_node_pods(node_));
    // Two containers may start at once. The record that one call has read may lack the share that
    // the other one makes, so both steps are under one lock.
    const MutexLock lock(shares_mutex_);
    TRY(const auto holders, ports_.holders.list());
    std::set<std::string> names;
    bool made = false;
    for (const DeviceHolder& holder : holders) {
        for (const std::string& device : holder.cdi_devices) {
            if (device.starts_with(kShareKind)) names.insert(device.substr(kShareKind.size()));
        }
        if (holder.resource != resource || holder.ids != ids) continue;
        const auto pod =
            std::ranges::find(pods, holder.pod, [](const NodePod& each) { return each.info.uid; });
        // Kubelet forgets ended pods late.
        if (pod == pods.end() || pod->info.finished) continue;
        const ContainerDevices has =
            devices_of(holders, holder.pod, holder.container, *ports_.dialects);
        const bool is_made_by_another = has.names_share && !gives_share(resource, *ports_.dialects);
        if (!has.by_former_plugin && !is_made_by_another) TRY_VOID(make_share(holder, *pod));
        made = true;
    }
    ports_.cdi.keep_only_shares(names);
    if (made) return {};
    return unknown_devices();
}

Result<> ContainerStartHandler::make_share(const DeviceHolder& holder, const NodePod& of) {
    const PodInfo& pod = of.info;
    Result<ContainerEdits> edits =
        fail(Code::not_found, fmt::format(kNoAllocation, key::kAllocation));
    if (pod.allocation) {
        const auto setup = std::ranges::find(of.setups, holder.container, &ContainerSetup::name);
        if (!*pod.allocation) {
            edits = refuse(pod.allocation->error());
        } else if (setup == of.setups.end()) {
            edits = refuse({Code::not_found, fmt::format(kUnknownContainer, holder.container)});
        } else {
            edits = edits_for(**pod.allocation, {pod.uid, pod.name, *setup});
        }
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
    log_event(Event::gpus_injected, {{"pod", pod.name.str()},
                                     {"container", holder.container},
                                     {"gpus", edits->env.front().second},
                                     {"enforced_by", enforced_by(pod.uid, holder.container)}});
    return {};
}

}  // namespace tessera
