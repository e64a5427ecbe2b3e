// Replays an order of arrival under a policy, as the FGD experiment does (USENIX ATC 2023, §6):
// every task is offered once, a task that fits nowhere is dropped, and no task ends. A gang is
// placed or dropped as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "domain/placement/engine/policy.hpp"
#include "simulator/workload/workload.hpp"

namespace tessera {

// The last percentage of a curve: arrivals stop at 130 % of the GPUs.
inline constexpr int kLastPercent = 130;

// Means over the tasks after whose arrival the GPUs requested so far, dropped tasks included, were
// this percentage of all GPUs, rounded half to even.
struct CurvePoint {
    int tasks = 0;             // 0: no task here, and the other values are meaningless
    double allocation = 0;     // allocated percentage of all GPUs
    double fragmentation = 0;  // FGD's F of all nodes, in percent of all GPUs
    double ratio = 0;          // FGD's F of all nodes, in percent of the idle GPUs
};
using Curve = std::array<CurvePoint, kLastPercent + 1>;

// The place of a task: an index into Workload::nodes, or -1 for none.
struct Placed {
    std::int32_t node = -1;
    GpuSet gpus = 0;

    friend bool operator==(const Placed&, const Placed&) = default;
};

struct ReplaySeeds {
    int draws = 0;               // for policies that choose at random
    std::uint64_t sampling = 0;  // for policies that sample the mix
};

// Each replay uses one thread.
std::vector<Placed> replay(const Workload& workload, const PlacementPolicyRow& policy,
                           const ReplaySeeds& seeds);

// The metrics of a replay. Each task's three figures are rounded to two decimal places before the
// mean, as the artefact prints them.
Curve curve_of(const Workload& workload, const std::vector<Placed>& placed);

}  // namespace tessera
