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

// Sequences of moves, the shortest first (iterative deepening): of each length those alone whose
// bound says that the goal is within reach (IDA*; Korf 1985). What several sequences come to is
// gone on from once.
class Search {
  public:
    Search(Layout& layout, Bounds& bounds, const Effort& effort)
        : layout_(layout),
          bounds_(bounds),
          effort_(effort),
          prices_before_(layout.nodes_priced()),
          exact_(!layout.has_nominees()) {}

    // Whether it found the moves; the layout is then as it is after them.
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
    // Whether there is no sequence at all, where none was found.
    [[nodiscard]] bool is_sure() const { return exact_; }

  private:
    // Who went where: all that the layout hangs on.
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

    // What one number of moves may take.
    [[nodiscard]] bool is_spent() const {
        return steps_ >= steps_end_ || prices() >= effort_.prices;
    }

    [[nodiscard]] std::vector<std::size_t> everybody() const {
        std::vector<std::size_t> out(layout_.lodgers().size());
        std::iota(out.begin(), out.end(), std::size_t{0});
        return out;
    }

    // Whether the rest is within reach were the pod simply gone.
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
            out.emplace_back(step.lodger, step.place.node, step.place.fit.cards);
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
    std::set<State> seen_states_;  // with moves of one number left
    std::size_t steps_ = 0;
    std::size_t steps_end_ = 0;
    const std::size_t prices_before_;
    // No sequence was left out that might do. helps() leaves out those in which a new pod turns a
    // nominee away, or to another card.
    bool exact_;
    bool fewest_ = false;
};

// Where the whole is too much to search: one card after the other, each by its fewest moves. The
// layout is as it is after them, whether enough were found or not.
bool free_one_by_one(Layout& layout, int cards, Effort effort, std::vector<Step>& made) {
    const Goal one = FreeCards{1};
    for (int i = 0; i < cards; ++i) {
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
    const NodeInventory& from = layout.view(lodger.node).inventory;
    const NodeInventory& to = layout.view(step.place.node).inventory;
    Move move{.uid = lodger.tenant->uid,
              .pod = lodger.tenant->name,
              .node = from.name,
              .cards = {},
              .size = lodger.size,
              .to = to.name,
              .to_cards = {}};
    for (const std::size_t card : lodger.cards)
        move.cards.push_back(from.gpus[card].index);
    for (const int card : step.place.fit.cards)
        move.to_cards.push_back(to.gpus[static_cast<std::size_t>(card)].index);
    std::ranges::sort(move.to_cards);
    const auto same = std::ranges::unique(move.to_cards);
    move.to_cards.erase(same.begin(), same.end());
    return move;
}

std::string pods_that_move(std::size_t count) {
    return count == 1 ? "the one pod that may be moved"
                      : fmt::format("the {} pods that may be moved", count);
}

// Why no sequence of moves is of use, whatever room there were elsewhere.
std::string out_of_reach(Layout& layout, const Goal& goal) {
    const std::size_t movable = layout.lodgers().size();
    const Room now = layout.room();
    for (std::size_t i = 0; i < movable; ++i)
        layout.leave(i);
    const Room most = layout.room();
    if (const auto* room = std::get_if<RoomFor>(&goal)) {
        if (movable == 0) {
            return fmt::format(
                "pod {} fits nowhere, and no pod may be moved; the largest room on "
                "a card is {}",
                room->pod.name.str(), to_string(now.largest));
        }
        return fmt::format(
            "pod {} would fit nowhere even without {}; the largest room on a card would be {}",
            room->pod.name.str(), pods_that_move(movable), to_string(most.largest));
    }
    const std::size_t cards = layout.usable_cards();
    if (cards == 0) return "no node has a card that takes new pods";
    if (static_cast<std::size_t>(now.free_cards) == cards) {
        return cards == 1 ? std::string("the only card is free already")
                          : fmt::format("all {} cards are free already", cards);
    }
    if (movable == 0) return "no pod may be moved";
    const int asked = std::get<FreeCards>(goal).cards;
    const int more = most.free_cards - now.free_cards;
    return fmt::format(
        "{} asked for, and without {} there would be {} more",
        asked == 1 ? "1 more whole card is" : fmt::format("{} more whole cards are", asked),
        pods_that_move(movable), more == 0 ? "no" : fmt::format("{}", more));
}

// Why moves that might reach the goal do not.
std::string of_no_use(std::size_t movable, std::int64_t least, bool is_sure) {
    const std::string of =
        movable == 1 ? "" : fmt::format("{} of ", least == 1 ? "one" : fmt::format("{}", least));
    return fmt::format("{}{} would have to move, and {}", of, pods_that_move(movable),
                       !is_sure    ? "no moves were found that are of use"
                       : least > 1 ? "where their new pods would go nothing is gained"
                                   : "where its new pod would go nothing is gained");
}

Asker asker_of(const Goal& goal) {
    static const PodUid nobody;
    if (const auto* room = std::get_if<RoomFor>(&goal)) return {room->pod.uid, room->pod.priority};
    return {nobody, std::numeric_limits<int>::min()};
}

}  // namespace

Room room_of(const Cluster& cluster) {
    return Layout(cluster, asker_of(FreeCards{})).room();
}

std::variant<Plan, NoPlan> make_plan(const Cluster& cluster, const Goal& goal,
                                     const Effort& effort) {
    Layout layout(cluster, asker_of(goal));
    Bounds bounds(layout, goal);
    const std::int64_t least = bounds.moves();
    if (least >= kNever || (least > 0 && layout.lodgers().empty()))
        return NoPlan{out_of_reach(layout, goal)};
    Plan plan{.moves = {}, .before = layout.room(), .after = {}, .fits_on = {}};
    Search search(layout, bounds, effort);
    const bool found = search.run();
    std::vector<Step> steps = search.steps();
    const auto* free = std::get_if<FreeCards>(&goal);
    const bool is_split = !found && !search.is_sure() && free != nullptr && free->cards > 1;
    if (!found && !(is_split && free_one_by_one(layout, free->cards, effort, steps))) {
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
