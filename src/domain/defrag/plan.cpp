#include "domain/defrag/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "domain/defrag/bounds.hpp"
#include "domain/defrag/defrag_state.hpp"

namespace tessera::defrag {
namespace {

struct Step {
    std::size_t pod_index;
    Place place;
};

// Tries sequences of moves, the shortest first (iterative deepening). Of each length it tries only
// those whose bound says that the goal can be reached (IDA*; Korf 1985). A state that several
// sequences reach is continued once.
class Search {
  public:
    Search(DefragState& state, Bounds& bounds, const Effort& effort)
        : state_(state),
          bounds_(bounds),
          effort_(effort),
          prices_before_(state.nodes_priced()),
          exact_(!state.has_nominees()) {}

    // Whether it found moves; the state then has them applied.
    bool run() {
        const std::int64_t least = bounds_.moves();
        const auto most = static_cast<std::int64_t>(state_.placed_pods().size());
        for (std::int64_t length = least; length <= most; ++length) {
            if (steps_ >= effort_.steps || prices() >= effort_.prices) {
                exact_ = false;
                return false;
            }
            steps_end_ = std::min(effort_.steps, steps_ + effort_.steps_per_length);
            seen_states_.clear();
            if (dive(length)) {
                fewest_ = length == least || exact_;
                return true;
            }
            if (is_spent()) exact_ = false;
        }
        return false;
    }

    [[nodiscard]] const std::vector<Step>& steps() const { return made_; }
    [[nodiscard]] std::size_t steps_taken() const { return steps_; }
    [[nodiscard]] std::size_t prices() const { return state_.nodes_priced() - prices_before_; }
    [[nodiscard]] bool is_fewest() const { return fewest_; }
    // If no sequence was found: whether it is proven that there is none.
    [[nodiscard]] bool is_sure() const { return exact_; }

  private:
    // Which pod went where: this determines the state.
    using State = std::vector<std::tuple<std::size_t, std::size_t, std::vector<int>>>;

    bool dive(std::int64_t left) {
        const std::int64_t needed = bounds_.moves();
        if (needed == 0) return true;
        if (needed > left || !seen_states_.insert(state()).second) return false;
        for (const std::size_t i : needed == left ? bounds_.who_may_lower() : everybody()) {
            if (state_.placed_pods()[i].moved) continue;
            if (is_spent()) return false;
            if (!helps(i, left)) continue;
            if (is_spent()) return false;
            ++steps_;
            auto place = state_.place(i);
            if (!place) continue;
            make({i, *std::move(place)});
            if (bounds_.moves() <= left - 1 && dive(left - 1)) return true;
            take_back();
        }
        return false;
    }

    // Whether the limit for sequences of the current length is reached.
    [[nodiscard]] bool is_spent() const {
        return steps_ >= steps_end_ || prices() >= effort_.prices;
    }

    [[nodiscard]] std::vector<std::size_t> everybody() const {
        std::vector<std::size_t> out(state_.placed_pods().size());
        std::iota(out.begin(), out.end(), std::size_t{0});
        return out;
    }

    // Whether the goal could be reached with the remaining moves if the pod disappeared.
    bool helps(std::size_t pod_index, std::int64_t left) {
        ++steps_;
        const std::size_t node = state_.placed_pods()[pod_index].node;
        state_.leave(pod_index);
        bounds_.refresh(node);
        const bool helps = bounds_.moves() <= left - 1;
        state_.undo_leave(pod_index);
        bounds_.refresh(node);
        return helps;
    }

    [[nodiscard]] State state() const {
        State out;
        out.reserve(made_.size());
        for (const Step& step : made_)
            out.emplace_back(step.pod_index, step.place.node, step.place.assignment.gpus);
        std::ranges::sort(out);
        return out;
    }

    void make(Step step) {
        state_.leave(step.pod_index);
        state_.enter(step.pod_index, step.place);
        refresh(step);
        made_.push_back(std::move(step));
    }

    void take_back() {
        const Step step = std::move(made_.back());
        made_.pop_back();
        state_.undo_enter(step.pod_index, step.place);
        state_.undo_leave(step.pod_index);
        refresh(step);
    }

    void refresh(const Step& step) {
        bounds_.refresh(state_.placed_pods()[step.pod_index].node);
        bounds_.refresh(step.place.node);
    }

    DefragState& state_;
    Bounds& bounds_;
    const Effort effort_;
    std::vector<Step> made_;
    std::set<State> seen_states_;  // with the same number of moves left
    std::size_t steps_ = 0;
    std::size_t steps_end_ = 0;
    const std::size_t prices_before_;
    // No sequence that could reach the goal was skipped. helps() skips sequences in which a
    // replacement sends a nominee away, or to another GPU.
    bool exact_;
    bool fewest_ = false;
};

// If the whole search is too large: frees one GPU after the other, each with the fewest moves. The
// state then has the moves applied, whether enough were found or not.
bool free_one_by_one(DefragState& state, int gpus, Effort effort, std::vector<Step>& made) {
    const Goal one = FreeGpus{1};
    for (int i = 0; i < gpus; ++i) {
        Bounds bounds(state, one);
        Search search(state, bounds, effort);
        if (bounds.moves() >= kNever || !search.run()) return false;
        effort.steps -= std::min(effort.steps, search.steps_taken());
        effort.prices -= std::min(effort.prices, search.prices());
        made.insert(made.end(), search.steps().begin(), search.steps().end());
    }
    return true;
}

Move move_of(const DefragState& state, const Step& step) {
    const PlacedPod& placed = state.placed_pods()[step.pod_index];
    const NodeInventory& from = state.original(placed.node).inventory;
    const NodeInventory& to = state.original(step.place.node).inventory;
    Move move{.uid = placed.assigned_pod->uid,
              .pod = placed.assigned_pod->name,
              .node = from.name,
              .gpus = {},
              .size = placed.size,
              .to = to.name,
              .to_gpus = {}};
    for (const std::size_t gpu : placed.gpus)
        move.gpus.push_back(from.gpus[gpu].index);
    for (const int gpu : step.place.assignment.gpus)
        move.to_gpus.push_back(to.gpus[static_cast<std::size_t>(gpu)].index);
    std::ranges::sort(move.to_gpus);
    const auto same = std::ranges::unique(move.to_gpus);
    move.to_gpus.erase(same.begin(), same.end());
    return move;
}

std::string pods_that_move(std::size_t count) {
    return count == 1 ? "the one pod that may be moved"
                      : fmt::format("the {} pods that may be moved", count);
}

// Why no sequence of moves helps, even with unlimited free GPUs elsewhere.
std::string out_of_reach(DefragState& state, const Goal& goal) {
    const std::size_t movable = state.placed_pods().size();
    const FreeCapacity now = state.free_capacity();
    for (std::size_t i = 0; i < movable; ++i)
        state.leave(i);
    const FreeCapacity most = state.free_capacity();
    if (const auto* room = std::get_if<RoomFor>(&goal)) {
        if (movable == 0) {
            return fmt::format(
                "pod {} fits nowhere, and no pod may be moved; the most free memory "
                "on a GPU is {}",
                room->pod.name.str(), rounded_down(now.largest));
        }
        return fmt::format(
            "pod {} would fit nowhere even without {}; the most free memory on a GPU would be {}",
            room->pod.name.str(), pods_that_move(movable), rounded_down(most.largest));
    }
    const std::size_t gpus = state.usable_gpus();
    if (gpus == 0) return "no node has a GPU that accepts new pods";
    if (static_cast<std::size_t>(now.free_gpus) == gpus) {
        return gpus == 1 ? std::string("the only GPU is free already")
                         : fmt::format("all {} GPUs are free already", gpus);
    }
    if (movable == 0) return "no pod may be moved";
    const int asked = std::get<FreeGpus>(goal).gpus;
    const int more = most.free_gpus - now.free_gpus;
    return fmt::format(
        "{} asked for, and without {} there would be {} more",
        asked == 1 ? "1 more whole GPU is" : fmt::format("{} more whole GPUs are", asked),
        pods_that_move(movable), more == 0 ? "no" : fmt::format("{}", more));
}

// Why moves that could reach the goal do not reach it.
std::string of_no_use(std::size_t movable, std::int64_t least, bool is_sure) {
    const std::string of =
        movable == 1 ? "" : fmt::format("{} of ", least == 1 ? "one" : fmt::format("{}", least));
    return fmt::format("{}{} would have to move, and {}", of, pods_that_move(movable),
                       !is_sure    ? "no moves were found that help"
                       : least > 1 ? "the places of their new pods would gain nothing"
                                   : "the place of its new pod would gain nothing");
}

PodToPlace pod_of(const Goal& goal) {
    static const PodUid none;
    if (const auto* room = std::get_if<RoomFor>(&goal)) return {room->pod.uid, room->pod.priority};
    return {none, std::numeric_limits<int>::min()};
}

}  // namespace

FreeCapacity free_capacity_of(const Cluster& cluster) {
    return DefragState(cluster, pod_of(FreeGpus{})).free_capacity();
}

std::variant<Plan, NoPlan> make_plan(const Cluster& cluster, const Goal& goal,
                                     const Effort& effort) {
    DefragState state(cluster, pod_of(goal));
    Bounds bounds(state, goal);
    const std::int64_t least = bounds.moves();
    if (least >= kNever || (least > 0 && state.placed_pods().empty()))
        return NoPlan{out_of_reach(state, goal)};
    Plan plan{.moves = {}, .before = state.free_capacity(), .after = {}, .fits_on = {}};
    Search search(state, bounds, effort);
    const bool found = search.run();
    std::vector<Step> steps = search.steps();
    const auto* free = std::get_if<FreeGpus>(&goal);
    const bool is_split = !found && !search.is_sure() && free != nullptr && free->gpus > 1;
    if (!found && !(is_split && free_one_by_one(state, free->gpus, effort, steps))) {
        return NoPlan{of_no_use(state.placed_pods().size(), least, search.is_sure())};
    }
    for (const Step& step : steps)
        plan.moves.push_back(move_of(state, step));
    plan.after = state.free_capacity();
    if (std::holds_alternative<RoomFor>(goal)) plan.fits_on = bounds.fits_on();
    plan.fewest = search.is_fewest();
    return plan;
}

}  // namespace tessera::defrag
