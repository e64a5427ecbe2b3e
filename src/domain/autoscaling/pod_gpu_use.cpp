#include "domain/autoscaling/pod_gpu_use.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace tessera {
namespace {

using Key = std::tuple<PodUid, std::string, GpuUuid>;

constexpr std::int64_t kMilliPercent = 100'000;  // the whole

Key key_of(const ShareUse& use) {
    return {use.pod, use.container, use.gpu};
}

// Of one GPU's time, in percent.
int granted(const ShareUse& use) {
    if (use.cores.value > 0) return use.cores.value;
    return std::max(use.cores_limit.value, 1);
}

// Kernels or copies, whichever took more, because each is limited by itself. Nothing if the agent
// restarted in between.
std::optional<std::int64_t> time_between(const ShareUse& before, const ShareUse& now) {
    const std::int64_t kernels = now.had.kernels_ns - before.had.kernels_ns;
    const std::int64_t copies = now.had.copies_ns - before.had.copies_ns;
    if (kernels < 0 || copies < 0) return std::nullopt;
    return std::max(kernels, copies);
}

struct Sums {
    std::int64_t had_ns = 0;
    std::int64_t granted = 0;
    std::int64_t used_mib = 0;
    std::int64_t limit_mib = 0;
    bool is_timed = true;
    bool is_damaged = false;
};

}  // namespace

std::map<PodUid, PodGpuUse> pod_gpu_uses(std::span<const ShareUse> before,
                                         std::span<const ShareUse> now, std::int64_t ns) {
    std::map<Key, const ShareUse*> earlier;
    for (const ShareUse& use : before)
        earlier[key_of(use)] = &use;
    std::map<PodUid, Sums> sums;
    for (const ShareUse& use : now) {
        Sums& sum = sums[use.pod];
        sum.granted += granted(use);
        sum.used_mib += use.used.count / kMiB;
        sum.limit_mib += use.limit.count / kMiB;
        sum.is_damaged |= use.is_damaged;
        const auto was = earlier.find(key_of(use));
        const auto had = was != earlier.end() && use.is_timed ? time_between(*was->second, use)
                                                              : std::optional<std::int64_t>();
        sum.is_timed &= had.has_value();
        sum.had_ns += had.value_or(0);
    }
    std::map<PodUid, PodGpuUse> out;
    const std::int64_t us = ns / 1'000;
    for (const auto& [pod, sum] : sums) {
        PodGpuUse& use = out[pod];
        if (sum.is_timed && us > 0)
            use.compute = sum.had_ns / 1'000 * kMilliPercent / us * 100 / sum.granted;
        if (!sum.is_damaged && sum.limit_mib > 0)
            use.memory = sum.used_mib * kMilliPercent / sum.limit_mib;
    }
    return out;
}

}  // namespace tessera
