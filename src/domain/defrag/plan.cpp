#include "domain/defrag/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "domain/defrag/bounds.hpp"
#include "domain/defrag/layout.hpp"

namespace tessera::defrag {
namespace {

struct Step {
    std::size_t lodger;
    Place place;
};

// Tries sequences of moves, the shortest first (iterative deepening). Of each length it tries only
// those whose bound says that the goal can be reached (IDA*; Korf 1985). A state that several
// sequences reach is continued once.
class Search {
  public:
    Search(Layout& layout, Bounds& bounds, const Effort& effort)
        : layout_(layout),
          bounds_(bounds),
          effort_(effort),
          prices_before_(layout.nodes_priced()),
          exact_(!layout.has_nominees()) {}

    // Whether it found moves; the layout then has them applied.
    bool run() {
        const std::int64_t least = bounds_.moves();
        const auto most = static_cast<std::int64_t>(layout_.lodgers().size());
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
    [[nodiscard]] std::size_t prices() const { return layout_.nodes_priced() - prices_before_; }
    [[nodiscard]] bool is_fewest() const { return fewest_; }
    // If no sequence was found: whether it is proven that there is none.
    [[nodiscard]] bool is_sure() const { return exact_; }

  private:
    // Which pod went where: this determines the layout.
    using State = std::vector<std::tuple<std::size_t, std::size_t, std::vector<int>>>;

    bool dive(std::int64_t left) {
        const std::int64_t needed = bounds_.moves();
        if (needed == 0) return true;
        if (needed > left || !seen_states_.insert(state()).second) return false;
        for (const std::size_t i : needed == left ? bounds_.who_may_lower() : everybody()) {
            if (layout_.lodgers()[i].moved) continue;
            if (is_spent()) return false;
            if (!helps(i, left)) continue;
            if (is_spent()) return false;
            ++steps_;
            auto place = layout_.place(i);
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
        std::vector<std::size_t> out(layout_.lodgers().size());
        std::iota(out.begin(), out.end(), std::size_t{0});
        return out;
    }

    // Whether the goal could be reached with the remaining moves if the pod disappeared.
    bool helps(std::size_t lodger, std::int64_t left) {
        ++steps_;
        const std::size_t node = layout_.lodgers()[lodger].node;
        layout_.leave(lodger);
        bounds_.refresh(node);
        const bool helps = bounds_.moves() <= left - 1;
        layout_.undo_leave(lodger);
        bounds_.refresh(node);
        return helps;
    }

    [[nodiscard]] State state() const {
        State out;
        out.reserve(made_.size());
        for (const Step& step : made_)
            out.emplace_back(step.lodger, step.place.node, step.place.assignment.gpus);
        std::ranges::sort(out);
        return out;
    }

    void make(Step step) {
        layout_.leave(step.lodger);
        layout_.enter(step.lodger, step.place);
        refresh(step);
        made_.push_back(std::move(step));
    }

    void take_back() {
        const Step step = std::move(made_.back());
        made_.pop_back();
        layout_.undo_enter(step.lodger, step.place);
        layout_.undo_leave(step.lodger);
        refresh(step);
    }

    void refresh(const Step& step) {
        bounds_.refresh(layout_.lodgers()[step.lodger].node);
        bounds_.refresh(step.place.node);
    }

    Layout& layout_;
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
// layout then has the moves applied, whether enough were found or not.
bool free_one_by_one(Layout& layout, int gpus, Effort effort, std::vector<Step>& made) {
    const Goal one = FreeGpus{1};
    for (int i = 0; i < gpus; ++i) {
        Bounds bounds(layout, one);
        Search search(layout, bounds, effort);
        if (bounds.moves() >= kNever || !search.run()) return false;
        effort.steps -= std::min(effort.steps, search.steps_taken());
        effort.prices -= std::min(effort.prices, search.prices());
        made.insert(made.end(), search.steps().begin(), search.steps().end());
    }
    return true;
}

Move move_of(const Layout& layout, const Step& step) {
    const Lodger& lodger = layout.lodgers()[step.lodger];
    const NodeInventory& from = layout.snapshot(lodger.node).inventory;
    const NodeInventory& to = layout.snapshot(step.place.node).inventory;
    Move move{.uid = lodger.assigned_pod->uid,
              .pod = lodger.assigned_pod->name,
              .node = from.name,
              .gpus = {},
              .size = lodger.size,
              .to = to.name,
              .to_gpus = {}};
    for (const std::size_t gpu : lodger.gpus)
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
std::string out_of_reach(Layout& layout, const Goal& goal) {
    const std::size_t movable = layout.lodgers().size();
    const Room now = layout.room();
    for (std::size_t i = 0; i < movable; ++i)
        layout.leave(i);
    const Room most = layout.room();
    if (const auto* room = std::get_if<RoomFor>(&goal)) {
        if (movable == 0) {
            return fmt::format(
                "pod {} fits nowhere, and no pod may be moved; the most free memory "
                "on a GPU is {}",
                room->pod.name.str(), to_string(now.largest));
        }
        return fmt::format(
            "pod {} would fit nowhere even without {}; the most free memory on a GPU would be {}",
            room->pod.name.str(), pods_that_move(movable), to_string(most.largest));
    }
    const std::size_t gpus = layout.usable_gpus();
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

Preemptor preemptor_of(const Goal& goal) {
    static const PodUid nobody;
    if (const auto* room = std::get_if<RoomFor>(&goal)) return {room->pod.uid, room->pod.priority};
    return {nobody, std::numeric_limits<int>::min()};
}

}  // namespace

Room room_of(const Cluster& cluster) {
    return Layout(cluster, preemptor_of(FreeGpus{})).room();
}

std::variant<Plan, NoPlan> make_plan(const Cluster& cluster, const Goal& goal,
                                     const Effort& effort) {
    Layout layout(cluster, preemptor_of(goal));
    Bounds bounds(layout, goal);
    const std::int64_t least = bounds.moves();
    if (least >= kNever || (least > 0 && layout.lodgers().empty()))
        return NoPlan{out_of_reach(layout, goal)};
    Plan plan{.moves = {}, .before = layout.room(), .after = {}, .fits_on = {}};
    Search search(layout, bounds, effort);
    const bool found = search.run();
    std::vector<Step> steps = search.steps();
    const auto* free = std::get_if<FreeGpus>(&goal);
    const bool is_split = !found && !search.is_sure() && free != nullptr && free->gpus > 1;
    if (!found && !(is_split && free_one_by_one(layout, free->gpus, effort, steps))) {
        return NoPlan{of_no_use(layout.lodgers().size(), least, search.is_sure())};
    }
    for (const Step& step : steps)
        plan.moves.push_back(move_of(layout, step));
    plan.after = layout.room();
    if (std::holds_alternative<RoomFor>(goal)) plan.fits_on = bounds.fits_on();
    plan.fewest = search.is_fewest();
    return plan;
}

}  // namespace tessera::defrag
