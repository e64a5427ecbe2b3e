#include "domain/allocation/allocation.hpp"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

struct Amounts {
    Bytes memory;
    Percent cores;
    bool mps = false;
};

struct GpuPeak {
    Amounts running;  // the sidecars so far, later with the app containers
    Amounts init_peak;
};

Amounts add(Amounts a, const GpuShare& share) {
    return {a.memory + share.memory, a.cores + share.cores, a.mps || share.mps};
}

Amounts max(Amounts a, Amounts b) {
    return {std::max(a.memory, b.memory), std::max(a.cores, b.cores), a.mps || b.mps};
}

}  // namespace

std::vector<GpuAllocation> allocated_by_gpu(const std::vector<ContainerAllocation>& containers) {
    std::map<GpuUuid, GpuPeak> peaks;
    for (const ContainerAllocation& container : containers) {
        for (const GpuShare& share : container.gpus) {
            GpuPeak& peak = peaks[share.uuid];
            const Amounts with_share = add(peak.running, share);
            if (container.kind == ContainerKind::init) {
                peak.init_peak = max(peak.init_peak, with_share);
            } else {
                peak.running = with_share;
            }
        }
    }
    std::vector<GpuAllocation> result;
    result.reserve(peaks.size());
    for (const auto& [uuid, peak] : peaks) {
        const Amounts most = max(peak.running, peak.init_peak);
        result.push_back({uuid, most.memory, most.cores, most.mps});
    }
    return result;
}

std::vector<GpuAllocation> larger(const std::vector<GpuAllocation>& a,
                                  const std::vector<GpuAllocation>& b) {
    std::map<GpuUuid, Amounts> most;
    for (const auto* of : {&a, &b}) {
        for (const GpuAllocation& on_gpu : *of)
            most[on_gpu.uuid] = max(most[on_gpu.uuid], {on_gpu.memory, on_gpu.cores, on_gpu.mps});
    }
    std::vector<GpuAllocation> result;
    result.reserve(most.size());
    for (const auto& [uuid, amounts] : most)
        result.push_back({uuid, amounts.memory, amounts.cores, amounts.mps});
    return result;
}

const ContainerAllocation* find_container(const Allocation& allocation, std::string_view name) {
    const auto at = std::ranges::find(allocation.containers, name, &ContainerAllocation::container);
    return at == allocation.containers.end() ? nullptr : &*at;
}

bool has_share(const ContainerAllocation& container) {
    return !std::ranges::all_of(container.gpus, &GpuShare::whole);
}

bool uses_mps(const Allocation& allocation) {
    return std::ranges::any_of(allocation.containers, [](const ContainerAllocation& container) {
        return std::ranges::any_of(container.gpus, &GpuShare::mps);
    });
}

}  // namespace tessera
