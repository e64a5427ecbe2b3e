#include "app/agent/mps/gpu_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNotSupervised =
    "tessera-mps does not run on this node; look at the pod of its DaemonSet";

MpsGrant grant_of(const PodUid& pod, const std::string& container, const GpuShare& share) {
    return {.pod = pod,
            .container = container,
            .gpu = share.uuid,
            .threads = share.cores,
            .memory = share.memory};
}

std::vector<MpsGrant> grants_of(const Allocation& allocation) {
    std::vector<MpsGrant> out;
    for (const ContainerAllocation& container : allocation.containers) {
        for (const GpuShare& share : container.gpus) {
            if (share.mps) out.push_back(grant_of(allocation.pod, container.container, share));
        }
    }
    return out;
}

// A GPU of which only the name is known.
std::vector<Gpu> named_gpus(const ContainerAllocation& container) {
    std::vector<Gpu> out;
    out.reserve(container.gpus.size());
    for (const GpuShare& share : container.gpus)
        out.push_back({.uuid = share.uuid, .index = share.index});
    return out;
}

tl::unexpected<Error> wait_for_gpu(const Gpu& gpu, std::string_view why) {
    return fail(Code::unavailable,
                fmt::format("GPU {} is not ready for the container: {}", gpu.index, why));
}

}  // namespace

void GpuModes::take(const PodChanges& changes) {
    const MutexLock lock(mutex_);
    for (const PodUid& uid : changes.deleted)
        pods_.erase(uid);
    for (const PodInfo& pod : changes.upserted) {
        const Allocation* own = own_allocation(pod);
        if (own == nullptr || own->node != node_ || pod.finished) {
            pods_.erase(pod.uid);
        } else {
            pods_.insert_or_assign(pod.uid, *own);
        }
    }
    if (!changes.listed) return;
    std::erase_if(pods_, [&](const auto& of) { return !changes.listed->contains(of.first); });
    is_listed_ = true;
}

GpuModes::Needs GpuModes::needs() const {
    // A container may outlive its pod at the API server.
    Needs out{.grants = ports_.started.grants(), .others = {}};
    const MutexLock lock(mutex_);
    out.is_complete = is_listed_;
    for (const auto& [uid, allocation] : pods_) {
        std::ranges::move(grants_of(allocation), std::back_inserter(out.grants));
        if (uses_mps(allocation)) continue;
        for (const ContainerAllocation& container : allocation.containers) {
            for (const GpuShare& share : container.gpus)
                out.others.insert(share.uuid);
        }
    }
    return out;
}

void GpuModes::apply() {
    const Needs all = needs();
    std::set<GpuUuid> gpus;
    std::ranges::copy(ports_.daemons.gpus(), std::inserter(gpus, gpus.end()));
    for (const MpsGrant& grant : all.grants)
        gpus.insert(grant.gpu);
    for (const GpuUuid& gpu : gpus) {
        if (const auto applied = apply(gpu, all)) {
            said_.erase(gpu);
        } else {
            report(gpu, applied.error());
        }
    }
}

Result<> GpuModes::apply(const GpuUuid& gpu, const Needs& all) {
    const auto needed = mps_settings_for(gpu, all.grants);
    const auto wanted = ports_.daemons.wanted(gpu);
    if (wanted && *wanted == needed) return {};
    const bool is_unwanted = wanted && !*wanted;
    // Pods that are not known yet may use the daemon.
    if (!all.is_complete && !is_unwanted) return {};
    if (needed && is_unwanted && all.others.contains(gpu)) {
        return fail(Code::conflict,
                    "a pod asks for MPS on a GPU that has a pod without MPS; it does not start");
    }
    return ports_.daemons.want(gpu, needed);
}

// Logs a lasting error once.
void GpuModes::report(const GpuUuid& gpu, const Error& error) {
    std::string& said = said_[gpu];
    if (std::exchange(said, error.text) == error.text) return;
    log_event(Event::mps_folder_error, {{"gpu", gpu.str()}, {"reason", error.text}});
}

Result<> GpuModes::check(const ContainerAllocation& container, std::span<const Gpu> gpus) const {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const GpuShare& share = container.gpus[i];
        TRY_VOID(share.mps ? check_served(grant_of({}, container.container, share), gpus[i])
                           : check_free(gpus[i]));
    }
    return {};
}

// For a container that does not use MPS. It would get no context on a GPU that admits MPS alone.
Result<> GpuModes::check_free(const Gpu& gpu) const {
    const auto wanted = ports_.daemons.wanted(gpu.uuid);
    const auto state = ports_.daemons.state(gpu.uuid);
    if (!wanted) return wait_for_gpu(gpu, wanted.error().text);
    if (!state) return wait_for_gpu(gpu, state.error().text);
    if (!*wanted && !*state) return {};
    if (!ports_.daemons.is_supervised())
        return wait_for_gpu(gpu, fmt::format("it is in MPS mode, and {}", kNotSupervised));
    return wait_for_gpu(
        gpu, fmt::format("it is leaving MPS mode{}", *state && !(**state).reason.empty()
                                                         ? fmt::format(" ({})", (**state).reason)
                                                         : ""));
}

Result<> GpuModes::check_served(const MpsGrant& grant, const Gpu& gpu) const {
    const auto read = ports_.daemons.state(gpu.uuid);
    if (!read) return wait_for_gpu(gpu, read.error().text);
    const bool is_followed =
        ports_.daemons.is_supervised() && (!*read || is_current(**read, ports_.clock.unix_ns()));
    if (!is_followed) return wait_for_gpu(gpu, kNotSupervised);
    if (!*read) return wait_for_gpu(gpu, "it is entering MPS mode");
    const MpsState& state = **read;
    const auto wanted = ports_.daemons.wanted(gpu.uuid);
    // The state may be of a daemon that is about to end.
    const bool is_wanted = wanted && *wanted && has_room_for(**wanted, grant);
    if (state.phase == MpsPhase::failed)
        return wait_for_gpu(gpu, fmt::format("MPS does not serve it: {}", state.reason));
    if (state.phase != MpsPhase::ready || !is_wanted || !has_room_for(state.settings, grant))
        return wait_for_gpu(gpu, "its MPS control daemon is getting its settings");
    return {};
}

Result<> GpuModes::check(const Allocation& allocation) const {
    for (const ContainerAllocation& container : allocation.containers)
        TRY_VOID(check(container, named_gpus(container)));
    return {};
}

void GpuModes::wait_for(const PodUid& pod) const {
    constexpr std::chrono::milliseconds kLook{100};
    std::optional<Allocation> allocation;
    {
        const MutexLock lock(mutex_);
        if (const auto known = pods_.find(pod); known != pods_.end()) allocation = known->second;
    }
    if (!allocation) return;
    const auto end = ports_.clock.steady() + kLongestWait;
    while (!check(*allocation) && ports_.clock.steady() < end)
        ports_.clock.sleep_for(kLook);
}

MpsReport GpuModes::report() const {
    MpsReport out{.node = node_,
                  .is_offered = true,
                  .is_supervised = ports_.daemons.is_supervised(),
                  .gpus = {}};
    const std::vector<MpsGrant> started = ports_.started.grants();
    for (const GpuUuid& gpu : ports_.daemons.gpus()) {
        const auto state = ports_.daemons.state(gpu);
        MpsGpuReport one{.state = {.gpu = gpu}, .grants = {}};
        if (!state) one.state.reason = state.error().text;
        if (state && *state) {
            one.state = **state;
            one.is_current = is_current(one.state, ports_.clock.unix_ns());
        }
        std::ranges::copy_if(started, std::back_inserter(one.grants),
                             [&](const MpsGrant& grant) { return grant.gpu == gpu; });
        out.gpus.push_back(std::move(one));
    }
    std::ranges::sort(out.gpus, {}, [](const MpsGpuReport& one) { return one.state.gpu; });
    return out;
}

}  // namespace tessera
