#include "domain/usage/unaccounted.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

bool is_lived_on_by_another(std::span<const ShareUse> uses, const PodUid& pod, const GpuUuid& gpu) {
    return std::ranges::any_of(uses, [&](const ShareUse& use) {
        return use.gpu == gpu && use.pod != pod &&
               std::ranges::any_of(
                   use.processes, [](const ProcessUse& process) { return process.used > Bytes{}; });
    });
}

}  // namespace

std::vector<Unaccounted> find_unaccounted(std::span<const PodGpuProcess> processes,
                                          std::span<const ShareUse> uses, Bytes allowance) {
    std::map<std::pair<PodUid, GpuUuid>, Unaccounted> by_pod;
    for (const PodGpuProcess& process : processes) {
        if (process.pod.empty()) continue;
        Unaccounted& of = by_pod[{process.pod, process.gpu}];
        of.pod = process.pod;
        of.gpu = process.gpu;
        of.used += process.used;
        of.pids.push_back(process.pid);
    }
    std::vector<Unaccounted> found;
    for (auto& [key, of] : by_pod) {
        bool has_share = false;
        std::size_t counted = 0;
        for (const ShareUse& use : uses) {
            if (use.pod != of.pod || use.gpu != of.gpu) continue;
            has_share = true;
            of.accounted += use.used;
            of.name = use.name;
            counted += use.processes.size();
        }
        // A process that the driver does not list has no context, and needs no allowance.
        const auto allowances =
            static_cast<std::int64_t>(std::max<std::size_t>(std::min(counted, of.pids.size()), 1));
        const bool is_beyond = has_share
                                   ? of.used > of.accounted + Bytes{allowances * allowance.count}
                                   : is_lived_on_by_another(uses, of.pod, of.gpu);
        if (is_beyond) found.push_back(std::move(of));
    }
    return found;
}

std::vector<Unclaimed> find_unclaimed(std::span<const GpuInUse> gpus,
                                      std::span<const PodGpuProcess> processes,
                                      std::span<const ShareUse> uses, Bytes allowance) {
    std::vector<Unclaimed> found;
    for (const GpuInUse& gpu : gpus) {
        std::map<PodUid, Bytes> used;
        std::map<PodUid, Bytes> accounted;
        for (const PodGpuProcess& process : processes)
            if (process.gpu == gpu.gpu) used[process.pod] += process.used;
        for (const ShareUse& use : uses)
            if (use.gpu == gpu.gpu) accounted[use.pod] += use.used;
        if (accounted.empty()) continue;
        Bytes claimed;
        for (const auto& [pod, bytes] : used)
            claimed += std::max(bytes, accounted[pod]);
        for (const auto& [pod, bytes] : accounted)
            if (!used.contains(pod)) claimed += bytes;
        if (gpu.used > claimed + allowance) found.push_back({gpu.gpu, gpu.used, claimed});
    }
    return found;
}

}  // namespace tessera
