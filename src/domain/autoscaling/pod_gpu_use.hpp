// How pods use their GPU shares, by two reports of an agent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "domain/usage/share_use.hpp"

namespace tessera {

// In thousandths of a percent.
struct PodGpuUse {
    // Of the pod's guarantees; of a share without one, of its limit, or of the whole GPU. More than
    // 100 % if the pod uses more than its guarantee. Nothing if the time of one of its GPUs is not
    // measured, or the agent restarted between the reports.
    std::optional<std::int64_t> compute;
    std::optional<std::int64_t> memory;  // nothing if the accounts of a share are damaged

    friend bool operator==(const PodGpuUse&, const PodGpuUse&) = default;
};

// The use of each pod in `now`. `before`: the same agent's report `ns` nanoseconds earlier; empty,
// or with ns 0: the use of compute is not known.
std::map<PodUid, PodGpuUse> pod_gpu_uses(std::span<const ShareUse> before,
                                         std::span<const ShareUse> now, std::int64_t ns);

}  // namespace tessera
