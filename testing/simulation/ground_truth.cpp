#include "testing/simulation/ground_truth.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::simulation {

GroundTruth::GroundTruth(Scene& scene, ApiServer& server) : scene_(scene), server_(server) {
    server.on_pod([this](const Change<PodObject>& change) { take(change); });
}

void GroundTruth::add(Machine& machine) {
    for (const PhysicalGpu& gpu : machine.gpus)
        capacity_[gpu.uuid] = gpu.memory;
}

void GroundTruth::take(const Change<PodObject>& change) {
    const PodInfo& pod = change.object->info;
    if (change.deleted || pod.finished) return free(pod.uid);
    const Allocation* own = own_allocation(pod);
    if (own == nullptr || allocated_.contains(pod.uid)) return;
    given_.insert_or_assign(pod.uid, *own);
    take_mode(pod.name, *own);
    for (const GpuAllocation& on_gpu : allocated_[pod.uid] = allocated_by_gpu(own->containers)) {
        const Bytes sum = granted_[on_gpu.uuid] += on_gpu.memory;
        if (sum <= capacity_[on_gpu.uuid]) continue;
        scene_.journal.violation(
            scene_.loop.now(),
            fmt::format("GPU {} of {} has {} allocated after pod {} ({}) is bound",
                        on_gpu.uuid.str(), to_string(capacity_[on_gpu.uuid]), to_string(sum),
                        pod.name.name, pod.uid.str()));
    }
}

void GroundTruth::take_mode(const PodName& name, const Allocation& own) {
    for (const GpuAllocation& on_gpu : allocated_by_gpu(own.containers)) {
        for (const auto& [uid, others] : allocated_) {
            const auto other = std::ranges::find(others, on_gpu.uuid, &GpuAllocation::uuid);
            if (other == others.end() || other->mps == on_gpu.mps) continue;
            scene_.journal.violation(
                scene_.loop.now(),
                fmt::format("GPU {} has pods with and without MPS after pod {} is bound",
                            on_gpu.uuid.str(), name.name));
        }
    }
}

void GroundTruth::free(const PodUid& uid) {
    const auto at = allocated_.find(uid);
    if (at == allocated_.end()) return;
    for (const GpuAllocation& on_gpu : at->second)
        granted_[on_gpu.uuid] -= on_gpu.memory;
    allocated_.erase(at);
}

void GroundTruth::check_start(const Machine& machine, const Container& container, bool by_agent) {
    ++started_;
    const auto wrong = [&](const std::string& what) {
        scene_.journal.violation(
            scene_.loop.now(),
            fmt::format("container {} of pod {} ({}) on {} {}", container.name,
                        container.pod_name.name, container.pod.str(), machine.name.str(), what));
    };
    if (!by_agent) return;
    const auto given = given_.find(container.pod);
    if (given == given_.end()) return wrong("started with GPUs, but its pod has no allocation");
    const auto& containers = given->second.containers;
    const auto share =
        std::ranges::find(containers, container.name, &ContainerAllocation::container);
    if (share == containers.end()) return wrong("started with GPUs, but has no share");
    std::map<GpuUuid, Bytes> wanted;
    for (const GpuShare& part : share->gpus)
        wanted[part.uuid] = part.memory;
    if (wanted != container.gpus) return wrong("has other GPUs than its allocation");
    check_room(machine, container, wrong);
}

void GroundTruth::check_room(const Machine& machine, const Container& container,
                             const std::function<void(const std::string&)>& wrong) {
    const auto is_orphan = [this](const Container& other) {
        return server_.pod(other.pod_name, other.pod) == nullptr;
    };
    if (is_orphan(container)) {
        ++orphans_started_;
        return;
    }
    for (const auto& [uuid, memory] : container.gpus) {
        Bytes sum = memory;
        bool orphan = false;
        for (const auto& [id, other] : machine.containers) {
            const auto part = other.gpus.find(uuid);
            if (part == other.gpus.end()) continue;
            if (is_orphan(other)) {
                orphan = true;
            } else {
                sum += part->second;
            }
        }
        if (orphan) ++orphans_met_;
        for (const auto& [id, other] : machine.containers) {
            const bool is_here = other.gpus.contains(uuid);
            // A container that its pod has left may be without MPS, which nothing on the node
            // shows.
            if (!is_here || other.uses_mps == container.uses_mps) continue;
            if (other.uses_mps || !is_orphan(other))
                wrong(fmt::format("has GPU {} with MPS beside one without", uuid.str()));
        }
        if (sum > capacity_[uuid]) wrong(fmt::format("overcommits GPU {}", uuid.str()));
    }
}

}  // namespace tessera::simulation
