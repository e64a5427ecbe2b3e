#include "simulator/replay/replay.hpp"

#include <cmath>
#include <random>

#include "domain/placement/engine/fragmentation.hpp"
#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "simulator/replay/trial.hpp"

namespace tessera {
namespace {

double two_places(double value) {
    return std::round(value * 100) / 100;
}

double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

// Workloads that tests build by hand have no pod list.
NodeCap cap_of(const Workload& workload, std::size_t arrival) {
    if (workload.pod_rows.size() != workload.arrivals.size()) return {};
    const std::size_t row = workload.pod_rows[arrival];
    return row < workload.pods.size() ? workload.pods[row].cap : NodeCap{};
}

}  // namespace

std::vector<Placed> replay(const Workload& workload, const PlacementPolicyRow& policy,
                           const ReplaySeeds& seeds) {
    PlacementEngine engine(workload.nodes);
    const auto rates = policy.make({.mix = workload.mix, .sampling_seed = seeds.sampling});
    EngineIndex index(engine, *rates);
    NodeCaps caps;
    std::mt19937_64 draws(static_cast<std::uint64_t>(seeds.draws));
    std::vector<Placed> placed;
    placed.reserve(workload.arrivals.size());
    for (std::size_t i = 0; i < workload.arrivals.size(); ++i) {
        const PlacementTask& task = workload.arrivals[i];
        const std::size_t size = workload.together.empty() ? 1 : workload.together[i];
        if (size > 1) {
            const auto gang = std::span(workload.arrivals).subspan(i, size);
            for (const PlacementTask& one : gang)
                index.arrived(one);
            const auto places =
                place_together(engine, index, caps, gang, cap_of(workload, i), draws);
            if (places) placed.insert(placed.end(), places->begin(), places->end());
            placed.resize(i + size);
        }
        if (size != 1) continue;
        index.arrived(task);
        const NodeCap cap = cap_of(workload, i);
        const auto decision = index.choose(task, draws(), caps.full(cap));
        if (decision) {
            engine.place(decision->node, task, decision->score.gpus);
            caps.add(cap, decision->node);
        }
        placed.push_back(
            decision ? Placed{static_cast<std::int32_t>(decision->node), decision->score.gpus}
                     : Placed{});
    }
    return placed;
}

Curve curve_of(const Workload& workload, const std::vector<Placed>& placed) {
    PlacementEngine engine(workload.nodes);
    Fragmentation fragmentation(workload.mix);
    double capacity = 0;
    double fragments = 0;
    for (std::size_t node = 0; node < engine.size(); ++node) {
        capacity += engine.load(node).free_milli();
        fragments += fragmentation.of(engine.load(node));
    }
    double used = 0;
    double arrived = 0;
    Curve curve;
    for (std::size_t i = 0; i < placed.size(); ++i) {
        const PlacementTask& task = workload.arrivals[i];
        arrived += milli_of(task);
        if (placed[i].node >= 0) {
            const auto node = static_cast<std::size_t>(placed[i].node);
            fragments -= fragmentation.of(engine.load(node));
            engine.place(node, task, placed[i].gpus);
            fragments += fragmentation.of(engine.load(node));
            used += milli_of(task);
        }
        const auto bin = static_cast<std::size_t>(std::nearbyint(percent(arrived, capacity)));
        if (bin > kLastPercent) continue;
        CurvePoint& point = curve[bin];
        ++point.tasks;
        point.allocation += two_places(percent(used, capacity));
        point.fragmentation += two_places(percent(fragments, capacity));
        point.ratio += two_places(percent(fragments, capacity - used));
    }
    for (CurvePoint& point : curve) {
        if (point.tasks == 0) continue;
        point.allocation /= point.tasks;
        point.fragmentation /= point.tasks;
        point.ratio /= point.tasks;
    }
    return curve;
}

}  // namespace tessera
