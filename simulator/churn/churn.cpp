#include "simulator/churn/churn.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "simulator/churn/churn_ledger.hpp"
#include "simulator/churn/running_cluster.hpp"
#include "simulator/churn/waiting_line.hpp"
#include "simulator/replay/fragments.hpp"
#include "simulator/replay/trial.hpp"

namespace tessera {
namespace {

// The state of a running task.
struct Running {
    std::vector<Placed> places;  // one place, or those of a gang
    double since_s = 0;          // begin of this run
    double left_s = 0;           // work that was left at its begin
    int run = 0;                 // number of this run; each move adds one
};

struct Leaving {
    double at_s;
    std::size_t task;
    int run;

    // The first to end is on top; ties go to the task that arrived first, and to its earlier run.
    bool operator<(const Leaving& other) const {
        if (at_s != other.at_s) return at_s > other.at_s;
        return task != other.task ? task > other.task : run > other.run;
    }
};

// A time at which moves are planned for a waiting task.
struct Seeking {
    double at_s;
    std::size_t task;

    bool operator<(const Seeking& other) const {
        return at_s != other.at_s ? at_s > other.at_s : task > other.task;
    }
};

class Churn {
  public:
    Churn(const Workload& workload, std::span<const ChurnTask> tasks, const ChurnWindow& window,
          PlacementPolicy& policy, int draws, const std::optional<MoveRules>& moves)
        : tasks_(tasks),
          window_(window),
          moves_(moves),
          engine_(workload.nodes),
          index_(engine_, policy),
          draws_(static_cast<std::uint64_t>(draws)),
          line_(tasks),
          ledger_(tasks, window),
          fragments_(engine_, workload.mix) {
        if (moves_) cluster_.emplace(workload.nodes, index_, policy);
    }

    ChurnResult run(const ChurnProgress& progress) {
        double capacity = 0;
        for (std::size_t node = 0; node < engine_.size(); ++node)
            capacity += engine_.load(node).free_milli();
        note_fragments(0);
        for (std::size_t task = 0; task < tasks_.size(); ++task) {
            const double now = tasks_[task].comes_s;
            go_on_until(now);
            give_up(now);
            for (int i = 0; i < tasks_[task].gang; ++i)
                index_.arrived(tasks_[task].task);
            if (!try_to_place(task, now)) wait(task);
            note_fragments(now);
            if (progress) progress(std::min(now / window_.to_s, 1.0));
        }
        // The last task to arrive still has its time to wait.
        go_on_until(window_.to_s + window_.patience_s);
        give_up(window_.to_s + 2 * window_.patience_s);
        ChurnResult result = ledger_.result(capacity);
        if (moves_) result.moves = ledger_.moves(capacity);
        result.decisions = decisions_;
        result.seconds = seconds_;
        return result;
    }

  private:
    // `choose` receives a function that draws a number for each choice.
    auto decide(const auto& choose) {
        using Clock = std::chrono::steady_clock;
        auto draw = [&] {
            ++decisions_;
            return draws_();
        };
        const auto start = Clock::now();
        auto chosen = choose(draw);
        seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        return chosen;
    }
    bool try_to_place(std::size_t task, double now) {
        const ChurnTask& of = tasks_[task];
        const std::vector<PlacementTask> pods(static_cast<std::size_t>(of.gang), of.task);
        auto places = decide(
            [&](auto& draw) { return place_together(engine_, index_, caps_, pods, of.cap, draw); });
        if (!places) return false;
        place_task(task, *std::move(places), now);
        return true;
    }
    void place_task(std::size_t task, std::vector<Placed> places, double now) {
        const ChurnTask& of = tasks_[task];
        if (cluster_) {
            for (const Placed& place : places)
                cluster_->placed(task, of.task, place, is_movable(of));
        }
        begin(task, {.places = std::move(places), .since_s = now, .left_s = of.lasts_s});
        ledger_.allocate(now, milli_of_all(of));
        ledger_.note_placed(task, now);
    }
    void begin(std::size_t task, Running running) {
        leaving_.push({running.since_s + running.left_s, task, running.run});
        running_.insert_or_assign(task, std::move(running));
    }
    void wait(std::size_t task) {
        line_.add(task);
        ledger_.note_waits(task);
        const ChurnTask& of = tasks_[task];
        // The pods of a gang with a cap cannot be planned one after the other.
        if (moves_ && of.task.count > 0 && (of.gang == 1 || of.cap.app < 0))
            seeking_.push({of.comes_s + moves_->after_s, task});
    }

    // Handles events in the order of time; at equal times a task ends before one is planned for.
    void go_on_until(double time_s) {
        for (;;) {
            const bool leaves = !leaving_.empty() && leaving_.top().at_s <= time_s;
            const bool seeks = !seeking_.empty() && seeking_.top().at_s <= time_s;
            if (seeks && (!leaves || seeking_.top().at_s < leaving_.top().at_s)) {
                const Seeking one = seeking_.top();
                seeking_.pop();
                seek(one);
            } else if (leaves) {
                const Leaving one = leaving_.top();
                leaving_.pop();
                leave(one);
            } else {
                return;
            }
        }
    }
    void leave(const Leaving& one) {
        const auto at = running_.find(one.task);
        // The task was moved, and its last run ends at another time: later, or slightly before, by
        // rounding.
        if (at == running_.end() || at->second.run != one.run) return;
        const std::vector<Placed> places = std::move(at->second.places);
        running_.erase(at);
        const ChurnTask& of = tasks_[one.task];
        for (const Placed& place : places)
            free(one.task, place);
        ledger_.allocate(one.at_s, -milli_of_all(of));
        give_up(one.at_s);
        for (const Placed& place : places)
            retry_waiting(place.node, one.at_s);
        note_fragments(one.at_s);
    }
    void free(std::size_t task, const Placed& place) {
        const ChurnTask& of = tasks_[task];
        const auto node = static_cast<std::size_t>(place.node);
        engine_.release(node, of.task, place.gpus);
        caps_.remove(of.cap, node);
        if (cluster_) cluster_->left(task, of.task, place);
    }
    void retry_waiting(std::int32_t node, double now) {
        line_.place_waiting_on(engine_, static_cast<std::size_t>(node),
                               [&](std::size_t task) { return try_to_place(task, now); });
    }
    void give_up(double now) {
        while (const auto task = line_.pop_arrived_before(now - window_.patience_s))
            ledger_.note_gave_up(*task);
    }
    void note_fragments(double now) { ledger_.note_fragments(now, fragments_.milli()); }

    // A gang that loses one of its pods would stop as a whole. If a task has a cap, another
    // instance may take its place in the meantime.
    static bool is_movable(const ChurnTask& task) {
        return task.task.count > 0 && task.gang == 1 && task.cap.app < 0;
    }
    void seek(const Seeking& one) {
        give_up(one.at_s);
        if (!line_.contains(one.task)) return;
        const ChurnTask& of = tasks_[one.task];
        double& again_s = not_before_[class_of(of)];
        if (one.at_s < again_s) return seeking_.push({again_s, one.task});
        ledger_.note_plan_attempt();
        const auto moves = cluster_->moves_for(
            {.task = of.task, .count = of.gang, .without = caps_.full(of.cap)}, moves_->most_moves);
        std::vector<TaskMove> made;
        if (moves && help(one, *moves, made)) {
            line_.remove(one.task);
            ledger_.note_helped(one.task, one.at_s);
        } else {
            again_s = one.at_s + moves_->after_s;
            seeking_.push({again_s, one.task});
        }
        look_after(made, one.at_s);
        note_fragments(one.at_s);
    }
    // Makes room for one pod after the other; false if the policy does not follow the plan.
    bool help(const Seeking& one, const std::vector<std::vector<TaskMove>>& moves,
              std::vector<TaskMove>& made) {
        const ChurnTask& of = tasks_[one.task];
        Trial trial(engine_, &caps_);
        std::vector<Placed> places;
        for (const std::vector<TaskMove>& of_one : moves) {
            const bool is_made = std::ranges::all_of(of_one, [&](const TaskMove& move) {
                if (!make(move, one.at_s)) return false;
                made.push_back(move);
                return true;
            });
            const auto to = decide([&](auto& draw) {
                return is_made ? index_.choose(of.task, draw(), caps_.full(of.cap)) : std::nullopt;
            });
            if (!to) {
                ledger_.note_deviation();
                return false;
            }
            trial.place(to->node, of.task, to->score.gpus, of.cap);
            places.push_back({static_cast<std::int32_t>(to->node), to->score.gpus});
        }
        trial.keep();
        place_task(one.task, std::move(places), one.at_s);
        return true;
    }
    bool make(const TaskMove& move, double now) {
        const PlacementTask& task = tasks_[move.task].task;
        const auto to = decide([&](auto& draw) { return index_.choose(task, draw()); });
        if (!to || Placed{static_cast<std::int32_t>(to->node), to->score.gpus} != move.to)
            return false;
        engine_.place(to->node, task, to->score.gpus);
        cluster_->placed(move.task, task, move.to, true);
        free(move.task, move.from);
        begin_again(move, now);
        return true;
    }
    // The policy learns the new runs only after all moves, because the plan predicts the policy as
    // it was. The GPUs that they left may make room for others.
    void look_after(const std::vector<TaskMove>& made, double now) {
        for (const TaskMove& move : made)
            index_.arrived(tasks_[move.task].task);
        for (const TaskMove& move : made)
            retry_waiting(move.from.node, now);
    }
    void begin_again(const TaskMove& move, double now) {
        const Running& before = running_.at(move.task);
        const double ran = now - before.since_s;
        const double every = moves_->checkpoint_s;
        const double kept =
            every > 0 ? std::isinf(every) ? 0 : std::floor(ran / every) * every : ran;
        ledger_.note_evicted(move.task, now, ran - kept);
        begin(move.task, {.places = {move.to},
                          .since_s = now,
                          .left_s = std::max(before.left_s - kept, 0.0),
                          .run = before.run + 1});
    }

    std::span<const ChurnTask> tasks_;
    const ChurnWindow window_;
    const std::optional<MoveRules> moves_;
    PlacementEngine engine_;
    EngineIndex index_;
    NodeCaps caps_;
    std::mt19937_64 draws_;
    WaitingLine line_;
    Ledger ledger_;
    Fragments fragments_;
    std::unordered_map<std::size_t, Running> running_;
    std::priority_queue<Leaving> leaving_;
    std::optional<RunningCluster> cluster_;  // only if tasks may be moved
    std::priority_queue<Seeking> seeking_;
    // The next time to plan for a class of tasks for which no plan was found.
    std::unordered_map<TaskClass, double, TaskClassHash> not_before_;
    std::size_t decisions_ = 0;
    double seconds_ = 0;
};

}  // namespace

ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const PlacementPolicyRow& policy,
                  const ReplaySeeds& seeds, const std::optional<MoveRules>& moves,
                  const ChurnProgress& progress) {
    const auto rates = policy.make({.mix = workload.mix, .sampling_seed = seeds.sampling});
    return Churn(workload, tasks, window, *rates, seeds.draws, moves).run(progress);
}

}  // namespace tessera
