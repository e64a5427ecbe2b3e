#include "app/top/gpu_uses.hpp"

#include <algorithm>

namespace tessera {
namespace {

template <class IsOne>
GpuUses sum_of(const GpuUuid& gpu, std::span<const ShareLine> uses, const IsOne& is_one) {
    GpuUses out;
    for (const ShareLine& line : uses) {
        if (line.use.gpu != gpu || !is_one(line)) continue;
        out.is_known = true;
        out.memory += line.use.used;
        if (line.time) out.time = std::min(out.time.value_or(0) + *line.time, 100);
    }
    return out;
}

}  // namespace

GpuUses uses_of(const GpuUuid& gpu, std::span<const ShareLine> uses) {
    return sum_of(gpu, uses, [](const ShareLine&) { return true; });
}

GpuUses uses_of(const GpuUuid& gpu, const PodUid& pod, std::span<const ShareLine> uses) {
    return sum_of(gpu, uses, [&](const ShareLine& line) { return line.use.pod == pod; });
}

PodSums sums_of(const PodUsage& pod) {
    PodSums out{.memory = pod.elsewhere + pod.pending};
    for (const Bytes each : pod.on_gpu)
        out.memory += each;
    for (const Percent each : pod.cores_on_gpu)
        out.cores += each.value;
    return out;
}

}  // namespace tessera
