#include "app/cli/defrag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPoll{1'000};

using defrag::Move;
using defrag::PodState;

std::string place_text(const NodeName& node, const std::vector<int>& gpus) {
    return fmt::format("node {}, GPU {}", node.str(), fmt::join(gpus, ", "));
}

class Run {
  public:
    Run(DefragCluster& cluster, Clock& clock, const DefragRun& run, const Predicted& predicted)
        : cluster_(cluster), clock_(clock), run_(run), predicted_(predicted) {}

    Result<> go() {
        std::vector<Move> moves = run_.plan.moves;
        while (!moves.empty()) {
            TRY_VOID(carry_out(moves.front(), moves.size()));
            TRY(std::vector<Move> next, plan_again());
            if (next.size() >= moves.size()) {
                return fail(Code::conflict,
                            fmt::format("stopped: {} still needed, no fewer than before; the "
                                        "scheduler used the GPUs that were freed, or the cluster "
                                        "changed; {} so far",
                                        counted(next.size(), "move"), evicted_text()));
            }
            moves = std::move(next);
        }
        return confirm();
    }

  private:
    [[nodiscard]] std::string evicted_text() const {
        return evicted_ == 1 ? "1 pod was evicted" : fmt::format("{} pods were evicted", evicted_);
    }

    // Calls `look` until it has a value or the timeout is over; a call that has begun by then is
    // the last. A server that is briefly unavailable is asked again. Planning again in a large
    // cluster takes long; after each call this pauses for as long as the call took, so it uses at
    // most half of a core and half of the reads.
    template <class Look>
    auto wait(const Look& look) -> decltype(look()) {
        const auto until = clock_.steady() + run_.timeout;
        while (true) {
            const auto began = clock_.steady();
            auto seen = look();
            const bool again = !seen && seen.error().code == Code::unavailable;
            const auto now = clock_.steady();
            if (!again || now >= until) return seen;
            const auto rest = std::max<std::chrono::nanoseconds>(kPoll, now - began);
            clock_.sleep_for(
                std::chrono::ceil<std::chrono::milliseconds>(std::min(rest, until - now)));
        }
    }

    Result<> carry_out(const Move& move, std::size_t left) {
        TRY(const std::vector<PodState> pods, cluster_.pods_of(move.pod.ns));
        std::set<PodUid> before;
        std::optional<defrag::Owner> owner;
        for (const PodState& pod : pods) {
            before.insert(pod.uid);
            if (pod.uid == move.uid) owner = pod.owner;
        }
        run_.say(fmt::format("{} left: evicting pod {} ({}, {})", counted(left, "move"),
                             move.pod.str(), place_text(move.node, move.gpus),
                             rounded_up(move.size)));
        const auto evicted = cluster_.evict(move.uid, move.pod);
        // The pod is gone already. Planning again shows what the plan is worth now.
        if (!evicted && evicted.error().code == Code::not_found) return {};
        if (!evicted) {
            return fail(Error(evicted.error())
                            .in(fmt::format("stopped, {}: pod {} was not evicted", evicted_text(),
                                            move.pod.str())));
        }
        ++evicted_;
        if (!owner) return {};
        TRY(const PodState made, wait([&] { return replacement(move, *owner, before); }));
        run_.say(fmt::format("pod {} is gone; {} {} created pod {}, which is on node {}",
                             move.pod.str(), owner->kind, owner->name, made.name.name,
                             made.node.str()));
        return {};
    }

    // unavailable: not there yet.
    Result<PodState> replacement(const Move& move, const defrag::Owner& owner,
                                 const std::set<PodUid>& before) {
        TRY(const std::vector<PodState> pods, cluster_.pods_of(move.pod.ns));
        if (std::ranges::find(pods, move.uid, &PodState::uid) != pods.end()) {
            return fail(Code::unavailable,
                        fmt::format("stopped, {}: pod {} has not ended within {} s", evicted_text(),
                                    move.pod.str(), run_.timeout.count()));
        }
        const auto made = std::ranges::find_if(pods, [&](const PodState& pod) {
            return pod.owner && pod.owner->uid == owner.uid && !before.contains(pod.uid) &&
                   !pod.node.empty() && !pod.terminating;
        });
        if (made != pods.end()) return *made;
        // A pod that exits with status 0 when it is terminated counts as complete to its Job.
        const std::string_view see = owner.kind == "Job" ? "pods,jobs" : "pods";
        return fail(Code::unavailable,
                    fmt::format("stopped, {}: pod {} is gone, and no new pod of {} {} is on a node "
                                "within {} s (kubectl get {} -n {})",
                                evicted_text(), move.pod.str(), owner.kind, owner.name,
                                run_.timeout.count(), see, move.pod.ns));
    }

    // Empty once the goal is reached. A budget that allows no eviction just after one allows it
    // again when the new pod is ready, so waiting helps.
    Result<std::vector<Move>> plan_again() {
        return wait([&]() -> Result<std::vector<Move>> {
            TRY(const defrag::ClusterObjects now, cluster_.read());
            if (is_placed(now)) return std::vector<Move>();
            TRY(const defrag::Goal goal, goal_of(now));
            const auto found = defrag::make_plan(defrag::cluster_of(now, predicted_(now)), goal);
            if (const auto* plan = std::get_if<defrag::Plan>(&found)) return plan->moves;
            return fail(Code::unavailable, fmt::format("stopped, {}: {}", evicted_text(),
                                                       std::get<defrag::NoPlan>(found).reason));
        });
    }

    [[nodiscard]] bool is_placed(const defrag::ClusterObjects& now) const {
        if (!run_.request.pod) return false;
        const auto pod = std::ranges::find(now.pods, *run_.request.pod, &PodInfo::name);
        return pod != now.pods.end() && !pod->node.empty();
    }

    [[nodiscard]] Result<defrag::Goal> goal_of(const defrag::ClusterObjects& now) const {
        if (run_.request.pod) {
            TRY(defrag::RoomFor room, defrag::find_waiting(now, *run_.request.pod));
            return defrag::Goal(std::move(room));
        }
        const int free = defrag::free_capacity_of(now).free_gpus;
        return defrag::Goal(defrag::FreeGpus{std::max(run_.gpus_wanted - free, 0)});
    }

    Result<> confirm() {
        if (!run_.request.pod) {
            const auto free = static_cast<std::size_t>(run_.gpus_wanted);
            run_.say(fmt::format("done: {} {} free, {}", counted(free, "whole GPU"),
                                 free == 1 ? "is" : "are", evicted_text()));
            return {};
        }
        TRY(const NodeName node, wait([&]() -> Result<NodeName> {
                TRY(const defrag::ClusterObjects now, cluster_.read());
                const auto pod = std::ranges::find(now.pods, *run_.request.pod, &PodInfo::name);
                if (pod == now.pods.end()) {
                    return fail(Code::not_found,
                                fmt::format("{}, and pod {} is gone", evicted_text(),
                                            run_.request.pod->str()));
                }
                if (!pod->node.empty()) return pod->node;
                return fail(
                    Code::unavailable,
                    fmt::format("{}, there is room for pod {}, and the scheduler has not "
                                "placed it within {} s (kubectl describe pod says why)",
                                evicted_text(), run_.request.pod->str(), run_.timeout.count()));
            }));
        run_.say(fmt::format("done: pod {} is on node {}, {}", run_.request.pod->str(), node.str(),
                             evicted_text()));
        return {};
    }

    DefragCluster& cluster_;
    Clock& clock_;
    const DefragRun& run_;
    const Predicted& predicted_;
    int evicted_ = 0;
};

}  // namespace

Result<DefragAnswer> plan_defrag(DefragCluster& cluster, const DefragRequest& request,
                                 const Predicted& predicted) {
    TRY(const defrag::ClusterObjects now, cluster.read());
    const defrag::ScorerOf scorers = predicted(now);
    const defrag::Cluster seen = defrag::cluster_of(now, scorers);
    DefragAnswer out{.found = {}, .stays = defrag::stays_of(now, scorers)};
    if (request.pod) {
        TRY(const defrag::RoomFor room, defrag::find_waiting(now, *request.pod));
        out.found = defrag::make_plan(seen, room);
    } else {
        out.gpus_wanted = defrag::free_capacity_of(now).free_gpus + request.gpus;
        out.found = defrag::make_plan(seen, defrag::FreeGpus{request.gpus});
    }
    return out;
}

Result<> apply_defrag(DefragCluster& cluster, Clock& clock, const DefragRun& run,
                      const Predicted& predicted) {
    return Run(cluster, clock, run, predicted).go();
}

}  // namespace tessera
