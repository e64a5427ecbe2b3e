// Replays an order of arrival under a policy, as the FGD experiment does (USENIX ATC 2023, §6):
// every task is offered once, one that fits nowhere is dropped, none leaves. A gang is placed or
// dropped as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "app/sim/workload.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

// The last percent of a curve: arrivals are cut at 130 % of the cards.
inline constexpr int kLastPercent = 130;

// Means over the tasks after whose arrival the cards asked for so far, dropped tasks included, were
// this percent of all cards, rounded half to even.
struct CurvePoint {
    int tasks = 0;             // 0: no task fell here, and the rest says nothing
    double allocation = 0;     // percent of all cards that is held
    double fragmentation = 0;  // FGD's F of all nodes, in percent of all cards
    double ratio = 0;          // the same in percent of the idle cards
};
using Curve = std::array<CurvePoint, kLastPercent + 1>;

// Where a task went: its index among Workload::nodes, or -1 for nowhere.
struct Placed {
    std::int32_t node = -1;
    CardSet cards = 0;

    friend bool operator==(const Placed&, const Placed&) = default;
};

struct ReplaySeeds {
    int draws = 0;               // of policies that leave something to chance
    std::uint64_t sampling = 0;  // of policies that sample the mix
};

// One thread per replay.
std::vector<Placed> replay(const Workload& workload, const FleetPolicyRow& policy,
                           const ReplaySeeds& seeds);

// The metrics of a replay. Each task's three figures are rounded to two places before the mean, as
// the artefact prints them.
Curve curve_of(const Workload& workload, const std::vector<Placed>& placed);

}  // namespace tessera
