#include "testing/simulation/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::simulation {

Machine::Machine(Scene& scene, NodeName node, int count, Bytes each)
    : name(std::move(node)), mps(scene, *this), scene_(scene) {
    for (int i = 0; i < count; ++i)
        gpus.push_back({.uuid = GpuUuid(fmt::format("GPU-{}-{}", name.str(), i)), .memory = each});
}

const Container* Machine::running(const PodUid& pod, const std::string& container) const {
    const auto at = std::ranges::find_if(containers, [&](const auto& entry) {
        return entry.second.pod == pod && entry.second.name == container;
    });
    return at == containers.end() ? nullptr : &at->second;
}

void Machine::end_containers(const PodUid& pod) {
    const auto ended =
        std::erase_if(containers, [&](const auto& e) { return e.second.pod == pod; });
    if (ended > 0) scene_.note(name.str(), [&] { return pod.str() + " has no containers now"; });
}

void Machine::forget(const PodUid& pod) {
    std::erase_if(record, [&](const DeviceHolder& holder) { return holder.pod == pod; });
    ends.erase(pod);
    written = record;
}

void Machine::write_record() {
    if (!scene_.strikes(Fault::record_stale)) written = record;
}

Result<std::vector<GpuReading>> Machine::read() {
    if (scene_.loop.now() < driver_silent_until) {
        return fail(Code::unavailable, "the driver does not answer");
    }
    std::vector<GpuReading> out;
    int index = 0;
    for (const PhysicalGpu& gpu : gpus) {
        out.push_back({.uuid = gpu.uuid,
                       .index = index,
                       .minor = index,
                       .model = "Simulated",
                       .memory = gpu.memory,
                       .reserved = {},
                       .lost = gpu.lost ? "GPU is lost" : "",
                       .recovery = gpu.faulty ? RecoveryAction::reset : RecoveryAction::none});
        ++index;
    }
    return out;
}

Result<std::optional<GpuFault>> Machine::wait_fault(std::chrono::milliseconds) {
    return std::optional<GpuFault>{};
}

Result<CdiDevice> Machine::vendor_device(const GpuUuid& uuid, int) {
    return CdiDevice{.name = "nvidia.com/gpu=" + uuid.str(), .device_nodes = {}, .mounts = {}};
}

Result<> Machine::write_share(const std::string& share, const ContainerEdits& edits) {
    shares.insert_or_assign(share, edits);
    return {};
}

void Machine::keep_only_shares(const std::set<std::string>& names) {
    std::erase_if(shares, [&](const auto& share) { return !names.contains(share.first); });
}

}  // namespace tessera::simulation
