#include "simulator/live/live_replay.hpp"

#include <algorithm>
#include <utility>

#include "domain/placement/engine/fragmentation.hpp"
#include "domain/placement/engine/policy.hpp"
#include "simulator/live/live_placer.hpp"

namespace tessera {
namespace {

constexpr double kPercent = 100;

LiveState state_of(const LiveCluster& cluster, const std::vector<NodeLoad>& loads,
                   std::int64_t allocated_milli, int placed) {
    LiveState state{.placed = placed + cluster.pinned,
                    .without_room = static_cast<int>(cluster.pods.size()) - placed};
    Fragmentation fragmentation(cluster.mix);
    double fragments = 0;
    for (const NodeLoad& load : loads) {
        fragments += fragmentation.of(load);
        state.free_gpus += static_cast<int>(
            std::ranges::count(load.milli, static_cast<std::int16_t>(kMilliPerGpu)));
    }
    const auto capacity = static_cast<double>(std::max<std::int64_t>(cluster.capacity_milli, 1));
    state.allocated =
        kPercent * static_cast<double>(allocated_milli + cluster.pinned_milli) / capacity;
    state.fragmentation = kPercent * fragments / capacity;
    return state;
}

std::vector<NodeLoad> loads_of(const PlacementEngine& engine) {
    std::vector<NodeLoad> loads;
    loads.reserve(engine.size());
    for (std::size_t node = 0; node < engine.size(); ++node)
        loads.push_back(engine.load(node));
    return loads;
}

// The pods that run now.
struct Running {
    std::int64_t milli = 0;
    int pods = 0;

    explicit Running(const LiveCluster& cluster) {
        for (const LivePod& pod : cluster.pods) {
            milli += pod.allocated_milli;
            pods += pod.node >= 0 ? 1 : 0;
        }
    }
};

std::int64_t allocated_milli(const LivePlacer& placer) {
    std::int64_t milli = 0;
    for (const auto& [pod, place] : placer.places())
        milli += place.milli;
    return milli;
}

void place_waiting(const LiveCluster& cluster, const PlacementPolicyRow& policy,
                   const ReplaySeeds& seeds, LiveRun& run) {
    LivePlacer placer(cluster, cluster.now, policy, seeds);
    for (const LivePod& pod : cluster.pods) {
        if (pod.node >= 0) placer.arrived(pod);
    }
    for (const LiveGroup& group : cluster.groups.waiting)
        placer.place(group);
    for (std::size_t pod = 0; pod < cluster.pods.size(); ++pod) {
        if (cluster.pods[pod].node >= 0) continue;
        const auto place = placer.places().find(pod);
        run.places.push_back(place == placer.places().end() ? Placed{} : place->second.placed);
    }
    // Closed nodes have no room for new pods, but their free GPUs count as free.
    std::vector<NodeLoad> loads = loads_of(placer.engine());
    for (std::size_t node = 0; node < loads.size(); ++node) {
        if (cluster.now.loads[node] != cluster.seen[node]) loads[node] = cluster.seen[node];
    }
    const Running running(cluster);
    run.waiting_placed = state_of(cluster, loads, running.milli + allocated_milli(placer),
                                  running.pods + static_cast<int>(placer.places().size()));
}

void place_all(const LiveCluster& cluster, const PlacementPolicyRow& policy,
               const ReplaySeeds& seeds, LiveRun& run) {
    LivePlacer placer(cluster, cluster.empty, policy, seeds);
    for (const LiveGroup& group : cluster.groups.all)
        placer.place(group);
    run.all_placed = state_of(cluster, loads_of(placer.engine()), allocated_milli(placer),
                              static_cast<int>(placer.places().size()));
}

}  // namespace

Result<LiveReport> replay_live(const ClusterDump& dump, const LiveOptions& options,
                               const Progress& progress) {
    TRY(const auto policies, find_placement_policies(options.policies));
    TRY(const LiveCluster cluster, live_cluster(dump));
    if (cluster.capacity_milli == 0) {
        return fail(Code::invalid_argument,
                    "no node of the snapshot has a GPU; `tessera doctor` says what a node lacks");
    }
    LiveReport report{.taken = dump.taken,
                      .nodes = cluster.node_names.size(),
                      .gpus = cluster.gpus,
                      .unhealthy = cluster.unhealthy,
                      .pinned = cluster.pinned,
                      .choosing = cluster.choosing,
                      .ruled = cluster.ruled,
                      .tells_rules = cluster.tells_rules,
                      .tells_links = cluster.tells_links,
                      .left_out = dump.left_out,
                      .node_names = cluster.node_names};
    for (const LivePod& pod : cluster.pods) {
        if (pod.node < 0) report.waiting.push_back(pod.request.name.str());
    }
    const Running running(cluster);
    report.as_is = state_of(cluster, cluster.seen, running.milli, running.pods);
    for (const PlacementPolicyRow* policy : policies)
        report.runs.push_back({.policy = std::string(policy->name)});
    SharedProgress done(progress, 2 * policies.size());
    in_parallel(2 * policies.size(), options.threads, [&](std::size_t at) {
        const auto work = at % 2 == 0 ? place_waiting : place_all;
        work(cluster, *policies[at / 2], options.seeds, report.runs[at / 2]);
        done.one_more();
    });
    return report;
}

}  // namespace tessera
