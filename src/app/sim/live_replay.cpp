#include "app/sim/live_replay.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "app/sim/trial.hpp"
#include "domain/placement/fleet/fragmentation.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {
namespace {

constexpr double kPercent = 100;

// Where a pod goes: its node, and the cards of each of its containers.
struct PodPlace {
    std::size_t node = 0;
    std::size_t variant = 0;
    std::int64_t score = 0;
    std::vector<CardSet> cards;
};

// One policy on one fleet.
class LivePlacer {
  public:
    LivePlacer(const LiveCluster& cluster, std::vector<NodeLoad> loads,
               const FleetPolicyRow& policy, const ReplaySeeds& seeds)
        : cluster_(cluster),
          fleet_(std::move(loads), 0, 0),
          policy_(policy.make({.mix = cluster.mix, .sampling_seed = seeds.sampling})),
          index_(fleet_, *policy_),
          draws_(static_cast<std::uint64_t>(seeds.draws)) {}

    void arrived(const LivePod& pod) {
        for (const Task& task : pod.learnt)
            index_.arrived(task);
    }

    // All pods of the group, or none.
    bool place(const LiveGroup& group, std::map<std::size_t, Placed>& rooms) {
        for (const std::size_t pod : group.pods)
            arrived(cluster_.pods[pod]);
        if (static_cast<int>(group.pods.size()) < group.size) return false;
        Trial trial(fleet_);
        std::vector<std::pair<std::size_t, Placed>> found;
        std::int64_t milli = 0;
        for (const std::size_t at : group.pods) {
            const LivePod& pod = cluster_.pods[at];
            const auto place = choose(pod);
            if (!place) return false;
            const std::vector<Task>& tasks = pod.variants[place->variant].tasks;
            for (std::size_t i = 0; i < tasks.size(); ++i) {
                trial.place(place->node, tasks[i], place->cards[i]);
                milli += milli_of(tasks[i]);
            }
            found.emplace_back(
                at, Placed{static_cast<std::int32_t>(place->node), place->cards.front()});
        }
        trial.keep();
        held_milli_ += milli;
        for (const auto& [pod, placed] : found)
            rooms.emplace(pod, placed);
        return true;
    }

    [[nodiscard]] const Fleet& fleet() const { return fleet_; }
    [[nodiscard]] std::int64_t held_milli() const { return held_milli_; }

  private:
    std::optional<PodPlace> choose(const LivePod& pod) {
        const std::uint64_t draw = draws_();
        std::optional<PodPlace> best;
        for (std::size_t variant = 0; variant < pod.variants.size(); ++variant) {
            const std::vector<Task>& tasks = pod.variants[variant].tasks;
            if (tasks.empty()) continue;
            auto place =
                tasks.size() == 1 ? choose_one(tasks.front(), draw) : choose_all(tasks, draw);
            if (!place) continue;
            place->variant = variant;
            const bool is_better =
                !best || place->score > best->score ||
                (place->score == best->score && comes_first(place->node, best->node, draw));
            if (is_better) best = std::move(place);
        }
        return best;
    }

    [[nodiscard]] bool comes_first(std::size_t node, std::size_t other, std::uint64_t draw) const {
        return policy_->tie() == Tie::any ? (draw >> 32) % 2 == 0 : node < other;
    }

    std::optional<PodPlace> choose_one(const Task& task, std::uint64_t draw) {
        const auto decision = index_.choose(task, draw);
        if (!decision) return std::nullopt;
        return PodPlace{decision->node, 0, decision->rating.score, {decision->rating.cards}};
    }

    // As the controller has it: the score is the sum of what each would score alone, and the cards
    // are chosen for one after the other. Pods of several containers with GPUs are few, so every
    // node is asked.
    std::optional<PodPlace> choose_all(const std::vector<Task>& tasks, std::uint64_t draw) {
        std::optional<PodPlace> best;
        for (std::size_t node = 0; node < fleet_.size(); ++node) {
            PodPlace place{.node = node};
            NodeLoad load = fleet_.load(node);
            for (const Task& task : tasks) {
                if (!can_take(load, task)) break;
                place.score += policy_->rate(fleet_.load(node), task, draw).score;
                place.cards.push_back(policy_->rate(load, task, draw).cards);
                load = load_after(load, task, place.cards.back());
            }
            if (place.cards.size() < tasks.size()) continue;
            if (!best || place.score > best->score) best = std::move(place);
        }
        return best;
    }

    const LiveCluster& cluster_;
    Fleet fleet_;
    std::unique_ptr<FleetPolicy> policy_;
    FleetIndex index_;
    std::mt19937_64 draws_;
    std::int64_t held_milli_ = 0;
};

LiveState state_of(const LiveCluster& cluster, const std::vector<NodeLoad>& loads,
                   std::int64_t held_milli, int placed) {
    LiveState state{.placed = placed + cluster.pinned,
                    .without_room = static_cast<int>(cluster.pods.size()) - placed};
    Fragmentation fragmentation(cluster.mix);
    double fragments = 0;
    for (const NodeLoad& load : loads) {
        fragments += fragmentation.of(load);
        state.free_cards += static_cast<int>(
            std::ranges::count(load.milli, static_cast<std::int16_t>(kMilliPerCard)));
    }
    const auto capacity = static_cast<double>(std::max<std::int64_t>(cluster.capacity_milli, 1));
    state.held = kPercent * static_cast<double>(held_milli + cluster.pinned_milli) / capacity;
    state.fragmentation = kPercent * fragments / capacity;
    return state;
}

std::vector<NodeLoad> loads_of(const Fleet& fleet) {
    std::vector<NodeLoad> loads;
    loads.reserve(fleet.size());
    for (std::size_t node = 0; node < fleet.size(); ++node)
        loads.push_back(fleet.load(node));
    return loads;
}

// What runs now.
struct Running {
    std::int64_t milli = 0;
    int pods = 0;

    explicit Running(const LiveCluster& cluster) {
        for (const LivePod& pod : cluster.pods) {
            milli += pod.holds_milli;
            pods += pod.node >= 0 ? 1 : 0;
        }
    }
};

void place_waiting(const LiveCluster& cluster, const FleetPolicyRow& policy,
                   const ReplaySeeds& seeds, LiveRun& run) {
    LivePlacer placer(cluster, cluster.now, policy, seeds);
    for (const LivePod& pod : cluster.pods) {
        if (pod.node >= 0) placer.arrived(pod);
    }
    std::map<std::size_t, Placed> rooms;
    for (const LiveGroup& group : cluster.waiting)
        placer.place(group, rooms);
    for (std::size_t pod = 0; pod < cluster.pods.size(); ++pod) {
        if (cluster.pods[pod].node >= 0) continue;
        run.rooms.push_back(rooms.contains(pod) ? rooms.at(pod) : Placed{});
    }
    // Closed nodes have no room for new pods, and what is free there is free all the same.
    std::vector<NodeLoad> loads = loads_of(placer.fleet());
    for (std::size_t node = 0; node < loads.size(); ++node) {
        if (cluster.now[node] != cluster.seen[node]) loads[node] = cluster.seen[node];
    }
    const Running running(cluster);
    run.waiting_placed = state_of(cluster, loads, running.milli + placer.held_milli(),
                                  running.pods + static_cast<int>(rooms.size()));
}

void place_anew(const LiveCluster& cluster, const FleetPolicyRow& policy, const ReplaySeeds& seeds,
                LiveRun& run) {
    LivePlacer placer(cluster, cluster.empty, policy, seeds);
    std::map<std::size_t, Placed> rooms;
    for (const LiveGroup& group : cluster.all)
        placer.place(group, rooms);
    run.anew = state_of(cluster, loads_of(placer.fleet()), placer.held_milli(),
                        static_cast<int>(rooms.size()));
}

}  // namespace

Result<LiveReport> replay_live(const ClusterSnapshot& snapshot, const LiveOptions& options,
                               const Progress& progress) {
    TRY(const auto policies, find_fleet_policies(options.policies));
    TRY(const LiveCluster cluster, live_cluster(snapshot));
    LiveReport report{.taken = snapshot.taken,
                      .nodes = cluster.node_names.size(),
                      .cards = cluster.cards,
                      .unhealthy = cluster.unhealthy,
                      .pinned = cluster.pinned,
                      .choosing = cluster.choosing,
                      .node_names = cluster.node_names};
    for (const LivePod& pod : cluster.pods) {
        if (pod.node < 0) report.waiting.push_back(pod.name);
    }
    const Running running(cluster);
    report.as_is = state_of(cluster, cluster.seen, running.milli, running.pods);
    for (const FleetPolicyRow* policy : policies)
        report.runs.push_back({.policy = std::string(policy->name)});
    SharedProgress done(progress, 2 * policies.size());
    in_parallel(2 * policies.size(), options.threads, [&](std::size_t at) {
        const auto work = at % 2 == 0 ? place_waiting : place_anew;
        work(cluster, *policies[at / 2], options.seeds, report.runs[at / 2]);
        done.one_more();
    });
    return report;
}

}  // namespace tessera
