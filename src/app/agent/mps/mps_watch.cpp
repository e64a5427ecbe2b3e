#include "app/agent/mps/mps_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/agent/enforcement/event_writing.hpp"
#include "base/log.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera {
namespace {

std::int64_t last_confirmed(const MpsState& state) {
    std::int64_t last = 0;
    for (const MpsFault& fault : state.faults) {
        if (fault.is_confirmed) last = std::max(last, fault.unix_ns);
    }
    return last;
}

}  // namespace

void MpsWatch::look() {
    const std::vector<MpsGrant> grants = started_.grants();
    const std::vector<GpuUuid> gpus = daemons_.gpus();
    std::erase_if(reported_,
                  [&](const auto& of) { return std::ranges::find(gpus, of.first) == gpus.end(); });
    for (const GpuUuid& gpu : gpus) {
        const auto state = daemons_.state(gpu);
        if (!state || !*state) continue;
        std::map<PodUid, PodName> names;
        for (const MpsGrant& grant : grants) {
            if (grant.gpu == gpu) names.try_emplace(grant.pod, grant.name);
        }
        std::vector<Pod> pods;
        pods.reserve(names.size());
        for (const auto& [uid, name] : names)
            pods.push_back({uid, name});
        look_at(gpu, **state, pods);
    }
    note_offenders();
}

void MpsWatch::note_offenders() {
    if (evict_after_ == 0) return;
    std::map<GpuUuid, std::vector<PodUid>> found;
    for (const auto& [gpu, reported] : reported_) {
        for (const auto& [pod, count] : reported.faults) {
            if (count >= evict_after_ && found[gpu].size() < kMostMpsOffenders)
                found[gpu].push_back(pod);
        }
    }
    const MutexLock lock(mutex_);
    offenders_ = std::move(found);
}

std::vector<PodUid> MpsWatch::offenders(const GpuUuid& gpu) const {
    const MutexLock lock(mutex_);
    const auto at = offenders_.find(gpu);
    return at == offenders_.end() ? std::vector<PodUid>() : at->second;
}

void MpsWatch::look_at(const GpuUuid& gpu, const MpsState& state, std::span<const Pod> pods) {
    const auto known = reported_.find(gpu);
    const auto before =
        known == reported_.end() ? daemons_.reported(gpu) : std::optional(known->second);
    // What happened before the first pod of ours is of no user.
    MpsReported now =
        before.value_or(MpsReported{.pid = state.pid, .servers_lost = state.servers_lost});
    if (!before && !state.faults.empty()) now.fault_unix_ns = state.faults.back().unix_ns;
    std::erase_if(now.faults, [&](const auto& of) {
        return std::ranges::find(pods, of.first, &Pod::uid) == pods.end();
    });
    for (const MpsFault& fault : state.faults) {
        if (fault.unix_ns <= now.fault_unix_ns) continue;
        now.fault_unix_ns = fault.unix_ns;
        // Another one may be a forgery, of which the pods hear nothing.
        if (fault.is_confirmed) tell_fault(gpu, fault, pods, ++now.faults[fault.client.pod]);
    }
    now.faults.erase(PodUid());
    const std::chrono::nanoseconds since_fault{state.checked_unix_ns - last_confirmed(state)};
    if (state.phase == MpsPhase::stopping) {
        // A GPU that leaves MPS mode has no pods.
        if (now.pid != 0) tell_lost(gpu, pods, "tessera-mps ends");
        now.pid = 0;
    } else if (state.phase != MpsPhase::starting) {
        if (now.pid != 0 && state.pid != now.pid) tell_lost(gpu, pods, "its control daemon ended");
        const bool is_same = state.pid == now.pid;
        if (is_same && state.servers_lost > now.servers_lost && since_fault > kAfterFault)
            tell_lost(gpu, pods, "its server ended");
        now.pid = state.pid;
    }
    now.servers_lost = state.servers_lost;
    tell_failing(gpu, state, pods);
    reported_.insert_or_assign(gpu, now);
    if (before == now) return;
    if (const auto noted = daemons_.note_reported(gpu, now); !noted)
        log_event(Event::mps_folder_error, {{"gpu", gpu.str()}, {"reason", noted.error().text}});
}

void MpsWatch::tell_fault(const GpuUuid& gpu, const MpsFault& fault, std::span<const Pod> pods,
                          int count) {
    const PodUid& of = fault.client.pod;
    log_event(
        Event::mps_client_fault,
        {{"gpu", gpu.str()}, {"pod_uid", of.str()}, {"pid", fault.client.pid}, {"faults", count}});
    const auto culprit = std::ranges::find(pods, of, &Pod::uid);
    for (const Pod& pod : pods) {
        if (pod.uid == of) {
            tell(pod, kGpuFatalError,
                 fmt::format("A program of this pod (process {} of the node) had a fatal error on "
                             "{}, which the pod shares by NVIDIA MPS, for the {}. time. All "
                             "programs with MPS on this GPU got the error; new ones can start in "
                             "some seconds",
                             fault.client.pid, gpu.str(), count));
            continue;
        }
        const bool may_know = culprit != pods.end() && culprit->name.ns == pod.name.ns;
        tell(pod, kGpuLost,
             fmt::format("The programs of this pod lost {}, which it shares by NVIDIA MPS, because "
                         "a program of {} had a fatal error. New ones can start in some seconds",
                         gpu.str(),
                         may_know ? "pod " + culprit->name.name : std::string("another pod")));
    }
}

void MpsWatch::tell_lost(const GpuUuid& gpu, std::span<const Pod> pods, const std::string& why) {
    for (const Pod& pod : pods) {
        tell(pod, kGpuLost,
             fmt::format("The programs of this pod lost {}, which it shares by NVIDIA MPS: {}. New "
                         "ones can start in some seconds",
                         gpu.str(), why));
    }
}

void MpsWatch::tell_failing(const GpuUuid& gpu, const MpsState& state, std::span<const Pod> pods) {
    const bool is_followed = daemons_.is_supervised() && is_current(state, clock_.unix_ns());
    int& looks = failed_looks_[gpu];
    looks = state.phase == MpsPhase::failed || !is_followed ? looks + 1 : 0;
    if (looks != kFailedLooks) return;
    const std::string why =
        is_followed ? state.reason : std::string("tessera-mps does not run on this node");
    for (const Pod& pod : pods) {
        tell(pod, kMpsNotServing,
             fmt::format("New programs of this pod cannot use {}: {}", gpu.str(), why));
    }
}

void MpsWatch::tell(const Pod& pod, const char* reason, std::string message) {
    if (pod.name.name.empty()) return;
    (void)tell_and_log(events_, {.pod = pod.uid,
                                 .name = pod.name,
                                 .type = PodEventType::warning,
                                 .reason = reason,
                                 .message = std::move(message),
                                 .source = "tessera-agent"});
}

}  // namespace tessera
