#include "app/scheduler/leader/offender_eviction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"

namespace tessera {
namespace {

// Null if the pod has no share with MPS on that GPU, or ends already.
const AssignedPod* find_offender(const NodeInfo& node, const GpuUuid& gpu, const PodUid& uid) {
    for (const AssignedPodPtr& pod : node.assigned_pods) {
        if (pod->uid != uid || pod->terminating) continue;
        for (const ContainerAllocation& container : pod->allocation.containers) {
            for (const GpuShare& share : container.gpus) {
                if (share.mps && share.uuid == gpu) return pod.get();
            }
        }
    }
    return nullptr;
}

}  // namespace

void OffenderEviction::run_round(const std::stop_token& stop) {
    const auto now = ports_.clock.steady();
    std::erase_if(next_try_, [&](const auto& of) { return of.second <= now; });
    if (!ports_.fence.leads()) return;
    const auto snapshot = ports_.cache.snapshot();
    for (const Snapshot::NodePtr& node : snapshot->nodes()) {
        for (const Gpu& gpu : node->inventory.gpus) {
            for (const PodUid& uid : gpu.mps_offenders) {
                if (stop.stop_requested()) return;
                const AssignedPod* pod = find_offender(*node, gpu.uuid, uid);
                if (pod == nullptr || !next_try_.try_emplace(uid, now + kAgain).second) continue;
                evict(*pod, gpu.uuid);
            }
        }
    }
}

void OffenderEviction::evict(const AssignedPod& pod, const GpuUuid& gpu) {
    const auto failed = [&](const std::string& reason) {
        log_event(Event::offender_error, {{"pod", pod.name.str()}, {"reason", reason}});
    };
    if (const auto begins = ports_.fence.begin(Evictions::kTakes); !begins)
        return failed(begins.error().text);
    const auto evicted = ports_.evictions.evict(pod.uid, pod.name);
    if (!evicted && evicted.error().code == Code::not_found) return;
    if (!evicted) return failed(evicted.error().text);
    if (!*evicted) return failed("a PodDisruptionBudget or an admission webhook forbids it");
    log_event(Event::offender_evicted,
              {{"pod", pod.name.str()}, {"pod_uid", pod.uid.str()}, {"gpu", gpu.str()}});
    const auto reported = ports_.events.tell(
        {.pod = pod.uid,
         .name = pod.name,
         .type = PodEventType::warning,
         .reason = kOffenderEvicted,
         .message = fmt::format("Evicted, because programs of this pod had fatal errors on {} as "
                                "often as the administrator tolerates. Each took the GPU from all "
                                "programs with NVIDIA MPS on it. Correct the program, or use the "
                                "guard (remove the annotation tessera.dev/isolation)",
                                gpu.str()),
         .source = "tessera-controller"});
    if (!reported) failed("its event was not written: " + reported.error().text);
}

}  // namespace tessera
