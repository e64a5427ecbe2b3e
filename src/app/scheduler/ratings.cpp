#include "app/scheduler/ratings.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "domain/placement/admission.hpp"
#include "domain/placement/card_choice.hpp"
#include "domain/placement/card_room.hpp"
#include "domain/placement/card_sets.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

constexpr std::int32_t kNotTaken = std::numeric_limits<std::int32_t>::min();
// What is kept is bounded, for a process that runs for months: some 200 MB if all kinds are full.
constexpr std::size_t kMostColumns = 256;
constexpr std::size_t kMostStates = std::size_t{1} << 13;
// A kind that nobody has asked for is not handed on for ever.
constexpr int kHandedOn = 2;

// The same for the same pod in every replica, unlike std::hash.
std::uint64_t draw_of(const PodUid& uid) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : uid.str())
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash * 0x9E3779B97F4A7C15U;
}

// Among equals any: the pod's draw decides which.
std::int64_t with_lot(std::int64_t score, std::uint64_t draw, std::uint32_t position) {
    constexpr int kLotBits = 20;
    const std::uint64_t mixed = (draw ^ position) * 0xD6E8FEB86659FD93U;
    return score * (std::int64_t{1} << kLotBits) +
           static_cast<std::int64_t>(mixed >> (64 - kLotBits));
}

// The scheduler has seen to memory, and no score depends on it.
void leave_out_memory(Task& task) {
    task.memory_mib = 0;
}

// What a pod's rules leave of nodes. Reused across them.
class Left {
  public:
    explicit Left(const PodRequest& request)
        : request_(request), rules_(rules_of(request)), admission_(rules_) {}

    [[nodiscard]] bool is_all() const { return rules_.admits_any() && !insists(); }
    // The others are left without room.
    void leave_out(NodeLoad& load, const Offer& offer) {
        admission_.look_at(offer);
        const CardMask linked = insists() ? linked_cards(offer) : kAnyCards;
        const std::size_t cards = std::min(offer.cards.size(), load.milli.size());
        for (std::size_t card = 0; card < cards; ++card) {
            if (!admission_.admits(card) || !is_among(linked, card)) load.milli.at(card) = 0;
        }
    }

  private:
    // Of several containers each has cards of its own, and no set of cards is the pod's.
    [[nodiscard]] bool insists() const {
        return rules_.link && request_.size() == 1 && request_.front().gpu.gpus > 1;
    }
    // From which it would take its own.
    CardMask linked_cards(const Offer& offer) {
        const GpuRequest& gpu = request_.front().gpu;
        CardMask open = 0;
        for (std::size_t card = 0; card < offer.cards.size() && card < kMaxCards; ++card) {
            if (has_room(offer, card, gpu)) open |= CardMask{1} << card;
        }
        return first_with_room(sets_, offer, gpu, open).value_or(kAnyCards);
    }

    const PodRequest& request_;
    const CardRules& rules_;
    Admission admission_;
    CardSets sets_;
};

// What `room` offers of the node to the pod.
NodeLoad load_for(const PodAsk& pod, const NodeView& node, const Offer& room) {
    NodeLoad load = with_cards(node.load, room.cards);
    Left(pod.request).leave_out(load, room);
    return load;
}

std::optional<std::vector<Task>> tasks_on(const Offer& room, const PodAsk& pod) {
    Bytes largest;
    for (const Card& card : room.cards)
        largest = std::max(largest, card.capacity);
    return tasks_of(pod, room.unit, largest);
}

}  // namespace

// The pod's containers on cards of one capacity.
struct Ratings::Scored {
    MemoryUnit unit;
    Bytes card;
    std::vector<std::pair<Task, Column*>> tasks;  // empty: the engine has no terms for the pod
};

Ratings::Ratings(std::unique_ptr<FleetPolicy> policy) : policy_(std::move(policy)) {}

Ratings::Column& Ratings::column_of(const Task& task, const ClusterView& view) const {
    const auto known = columns_.find(task);
    Column& column = known != columns_.end() ? known->second : add_column(task);
    column.asked = requests_;
    lay_out(column, view);
    return column;
}

// Where there are too many, in the place of those whose last request is the oldest. Those of the
// request that is being answered stay, however many they are: it points to them.
Ratings::Column& Ratings::add_column(const Task& task) const {
    while (columns_.size() >= kMostColumns) {
        const auto oldest = std::ranges::min_element(
            columns_, {}, [](const auto& known) { return known.second.asked; });
        if (oldest->second.asked == requests_) break;
        columns_.erase(oldest);
    }
    Column& added = columns_[task];
    added.number = ++numbers_;
    return added;
}

void Ratings::lay_out(Column& column, const ClusterView& view) {
    if (column.index == view.index()) return;
    column.index = view.index();
    column.by_position.assign(view.places(), {});
    column.caught_up = 0;
}

std::unique_lock<std::mutex> Ratings::lock() const {
    ++waiting_;
    std::unique_lock lock(mutex_);
    --waiting_;
    waiting_.notify_all();
    return lock;
}

bool Ratings::give_way(std::unique_lock<std::mutex>& lock) const {
    if (waiting_ == 0) return false;
    lock.unlock();
    for (int others = waiting_; others > 0; others = waiting_)
        waiting_.wait(others);
    lock.lock();
    return true;
}

std::optional<std::int32_t> Ratings::score(Column& column, const Task& task,
                                           const PlacementRow& row, std::uint32_t position,
                                           Effort effort) const {
    Seen& seen = column.by_position[position];
    if (seen.version == row.version) return seen.score;
    const auto found = score(column, task, row.node->load, effort);
    if (found) {
        seen = {row.version, *found};
        return found;
    }
    if (effort == Effort::as_before && seen.version != 0) return seen.score;
    return std::nullopt;
}

std::optional<std::int32_t> Ratings::score(Column& column, const Task& task, const NodeLoad& load,
                                           Effort effort) const {
    const NodeState state = state_of(load, policy_->sees_kinds());
    if (const std::int32_t* known = column.by_state.find(state)) return *known;
    if (!can_take_but_memory(load, task)) return kNotTaken;
    if (effort != Effort::anew) return std::nullopt;
    if (column.by_state.size() > kMostStates) column.by_state.clear();
    return column.by_state.at(state, policy_->rate(load, task, 0).score);
}

// One request. Wants the mutex.
class Ratings::Asking {
  public:
    Asking(const Ratings& of, const ClusterView& view, std::span<const std::uint32_t> positions,
           const PodAsk& pod)
        : of_(of),
          view_(view),
          positions_(positions),
          pod_(pod),
          draw_(draw_of(pod.uid)),
          is_by_lot_(of.is_by_lot()),
          left_(pod.request),
          ratings_(positions.size(), kLast) {}

    std::vector<std::int64_t> rate_all() {
        std::vector<std::size_t> unknown;
        const Effort effort = of_.policy_->is_slow() ? Effort::known : Effort::anew;
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            if (!rate_seen(i) && !rate(i, effort)) unknown.push_back(i);
        }
        if (!unknown.empty()) rate_some_of(unknown);
        return std::move(ratings_);
    }

  private:
    const Scored& scored_of(const PlacementRow& row) {
        const auto is_of = [&](const Scored& scored) {
            return scored.unit == row.unit && scored.card == row.largest;
        };
        if (latest_ != nullptr && is_of(*latest_)) return *latest_;
        const auto known = std::ranges::find_if(by_card_, is_of);
        if (known != by_card_.end()) return *(latest_ = &*known);
        Scored scored{row.unit, row.largest, {}};
        if (auto tasks = tasks_of(pod_, row.unit, row.largest)) {
            for (Task& task : *tasks) {
                leave_out_memory(task);
                scored.tasks.emplace_back(task, &of_.column_of(task, view_));
            }
        }
        by_card_.push_back(std::move(scored));
        return *(latest_ = &by_card_.back());
    }

    // What the pod's rules leave of a node; nothing where that is all.
    std::optional<NodeLoad> admitted_of(const PlacementRow& row) {
        if (is_all_) return std::nullopt;
        NodeLoad admitted = row.node->load;
        left_.leave_out(admitted, row.node->offer());
        if (admitted == row.node->load) return std::nullopt;
        return admitted;
    }

    // False where the effort does not get at it.
    bool rate(std::size_t i, Effort effort) {
        const PlacementRow& row = view_.row(positions_[i]);
        const auto admitted = admitted_of(row);
        const Scored& scored = scored_of(row);
        std::int64_t sum = 0;
        bool is_rated = !scored.tasks.empty();
        bool is_known = true;
        for (const auto& [task, column] : scored.tasks) {
            const auto one = admitted ? of_.score(*column, task, *admitted, effort)
                                      : of_.score(*column, task, row, positions_[i], effort);
            const bool is_left = !one && admitted && effort == Effort::as_before;
            if (is_left && column->left.size() < kMostStates) column->left.push_back(*admitted);
            is_known = is_known && one;
            is_rated = is_rated && one.value_or(kNotTaken) != kNotTaken;
            sum += one.value_or(0);
        }
        if (!is_known) return false;
        ratings_[i] = is_rated ? rating_of(sum, i) : kLast;
        return true;
    }

    // The same, quickly, for what is most often so: a pod of one container, without rules.
    bool rate_seen(std::size_t i) {
        const PlacementRow& row = view_.row(positions_[i]);
        const Scored& scored = scored_of(row);
        if (!is_all_ || scored.tasks.size() != 1) return false;
        const Seen& seen = scored.tasks.front().second->by_position[positions_[i]];
        if (seen.version != row.version) return false;
        if (seen.score != kNotTaken) ratings_[i] = rating_of(seen.score, i);
        return true;
    }

    void rate_some_of(std::vector<std::size_t>& unknown) {
        const std::size_t fullest = std::min(unknown.size(), kFullestAnew);
        std::ranges::nth_element(unknown, unknown.begin() + static_cast<std::ptrdiff_t>(fullest),
                                 {}, [&](std::size_t i) {
                                     return std::pair(
                                         view_.row(positions_[i]).node->load.free_milli(), i);
                                 });
        std::vector<char> is_old(positions_.size());
        for (std::size_t n = 0; n < unknown.size(); ++n) {
            const bool is_among_fullest = n < fullest;
            const bool is_known =
                rate(unknown[n], is_among_fullest ? Effort::anew : Effort::as_before);
            is_old[unknown[n]] = is_known && !is_among_fullest ? 1 : 0;
        }
        // Who has taken the last pod would win again by what he was before.
        for (std::size_t tried = 0; tried < kBestAnew; ++tried) {
            const auto best =
                static_cast<std::size_t>(std::ranges::max_element(ratings_) - ratings_.begin());
            if (is_old[best] == 0) return;
            is_old[best] = 0;
            rate(best, Effort::anew);
        }
    }

    [[nodiscard]] std::int64_t rating_of(std::int64_t score, std::size_t i) const {
        return is_by_lot_ ? with_lot(score, draw_, positions_[i]) : score;
    }

    const Ratings& of_;
    const ClusterView& view_;
    std::span<const std::uint32_t> positions_;
    const PodAsk& pod_;
    std::uint64_t draw_;
    bool is_by_lot_;
    Left left_;
    bool is_all_ = left_.is_all();
    std::vector<std::int64_t> ratings_;
    std::deque<Scored> by_card_;
    const Scored* latest_ = nullptr;  // most nodes have cards like those of the one before
};

std::vector<std::int64_t> Ratings::rate(const ClusterView& view,
                                        std::span<const std::uint32_t> positions,
                                        const PodAsk& pod) const {
    const auto locked = lock();
    ++requests_;
    return Asking(*this, view, positions, pod).rate_all();
}

std::int64_t Ratings::rate_room(const NodeView& node, const Offer& room, const PodAsk& pod) const {
    const auto tasks = tasks_on(room, pod);
    if (!tasks) return kLast;
    const NodeLoad load = load_for(pod, node, room);
    const auto locked = lock();
    ++requests_;
    std::int64_t sum = 0;
    for (Task task : *tasks) {
        leave_out_memory(task);
        const auto known = columns_.find(task);
        Column& column = known != columns_.end() ? known->second : add_column(task);
        column.asked = requests_;
        const std::int32_t one = score(column, task, load, Effort::anew).value_or(kNotTaken);
        if (one == kNotTaken) return kLast;
        sum += one;
    }
    return sum;
}

bool Ratings::is_by_lot() const {
    return policy_->tie() == Tie::any;
}

// What is left of a node while a pod's containers take their cards.
struct Ratings::Room {
    const Offer& offer;
    NodeLoad load;  // what the pod does not admit is full
    std::vector<Bytes> own = std::vector<Bytes>(offer.cards.size());
    std::vector<Percent> own_cores = std::vector<Percent>(offer.cards.size());

    // Those that have room for a share of the container.
    [[nodiscard]] CardMask open_to(const ContainerRequest& container) const {
        CardMask out = 0;
        for (std::size_t i = 0; i < std::min(offer.cards.size(), load.milli.size()); ++i) {
            const Card& card = offer.cards[i];
            const Bytes peak = own[i] + bytes_of(container.gpu.memory, offer.unit, card.capacity);
            const Percent cores = own_cores[i] + container.gpu.cores;
            if (load.milli.at(i) > 0 && has_room(card, container.gpu, peak, cores))
                out |= CardMask{1} << i;
        }
        return out;
    }

    void take(const ContainerRequest& container, const Task& task, CardSet cards, Fit& fit) {
        for (std::size_t i = 0; i < offer.cards.size(); ++i) {
            if (!is_among(cards, i)) continue;
            own[i] += bytes_of(container.gpu.memory, offer.unit, offer.cards[i].capacity);
            own_cores[i] = own_cores[i] + container.gpu.cores;
            fit.cards.push_back(static_cast<int>(i));
        }
        load = load_after(load, task, cards);
    }
};

std::optional<Fit> Ratings::choose(const NodeView& node, const Offer& offer,
                                   const PodAsk& pod) const {
    const auto tasks = tasks_on(offer, pod);
    if (!tasks) return std::nullopt;
    Room room{.offer = offer, .load = load_for(pod, node, offer)};
    Fit fit;
    CardSets sets;
    const auto locked = lock();
    for (std::size_t i = 0; i < tasks->size(); ++i) {
        const ContainerRequest& container = pod.request[i];
        Task task = (*tasks)[i];
        leave_out_memory(task);
        const auto cards = choose_cards(sets,
                                        {.offer = offer,
                                         .load = room.load,
                                         .gpu = container.gpu,
                                         .task = task,
                                         .open = room.open_to(container)},
                                        *policy_, draw_of(pod.uid));
        if (!cards) return std::nullopt;
        room.take(container, task, *cards, fit);
    }
    return fit;
}

std::vector<ScoreTerm> Ratings::terms(const NodeView& node, const Offer& room,
                                      const PodAsk& pod) const {
    const auto tasks = tasks_on(room, pod);
    if (!tasks) return {};
    const NodeLoad load = load_for(pod, node, room);
    Task task = tasks->front();
    leave_out_memory(task);
    const auto locked = lock();
    if (!can_take_but_memory(load, task)) return {};
    return policy_->terms(load, task);
}

std::vector<Task> Ratings::kinds() const {
    const auto locked = lock();
    std::vector<Task> out;
    out.reserve(columns_.size());
    for (const auto& [task, column] : columns_)
        out.push_back(task);
    return out;
}

void Ratings::expect(std::span<const Task> kinds) {
    const auto locked = lock();
    for (const Task& kind : kinds) {
        if (columns_.size() >= kMostColumns) return;
        if (!columns_.contains(kind)) add_column(kind);
    }
}

void Ratings::expect_those_of(const Ratings& before) {
    std::vector<std::pair<Task, int>> of_late;
    {
        const auto locked = before.lock();
        for (const auto& [task, column] : before.columns_) {
            const int unasked_for = column.asked != 0 ? 0 : column.unasked_for + 1;
            if (unasked_for <= kHandedOn) of_late.emplace_back(task, unasked_for);
        }
    }
    const auto locked = lock();
    for (const auto& [task, unasked_for] : of_late) {
        if (columns_.size() >= kMostColumns) return;
        if (!columns_.contains(task)) add_column(task).unasked_for = unasked_for;
    }
}

bool Ratings::catch_up(const ClusterView& view, std::size_t most) {
    if (!policy_->is_slow()) return true;
    Versions versions{.of = std::vector<std::uint64_t>(view.places())};
    for (std::size_t position = 0; position < view.places(); ++position) {
        const PlacementRow& row = view.row(position);
        if (row.node == nullptr || !row.open) continue;
        versions.of[position] = row.version;
        versions.newest = std::max(versions.newest, row.version);
    }
    return std::ranges::all_of(kinds_to_catch_up(), [&](const Task& kind) {
        return catch_up(kind, view, versions, most);
    });
}

// Each is the first in its turn, for `most` may be enough for no more than that.
std::vector<Task> Ratings::kinds_to_catch_up() {
    const auto locked = lock();
    std::vector<Task> out;
    std::vector<Task> expected;
    for (const auto& [task, column] : columns_)
        (column.asked != 0 ? out : expected).push_back(task);
    const auto turn = turns_++;
    for (std::vector<Task>* part : {&out, &expected}) {
        if (part->empty()) continue;
        std::ranges::rotate(*part,
                            part->begin() + static_cast<std::ptrdiff_t>(turn % part->size()));
    }
    out.insert(out.end(), expected.begin(), expected.end());
    return out;
}

bool Ratings::catch_up(const Task& task, const ClusterView& view, const Versions& versions,
                       std::size_t& most) {
    std::unique_lock lock(mutex_);
    const auto found = columns_.find(task);
    if (found == columns_.end()) return true;
    Column* column = &found->second;
    const std::uint64_t number = column->number;
    lay_out(*column, view);
    // Those who ask meanwhile may have had it forgotten, or look at another view.
    const auto is_as_it_was = [&] {
        const auto again = columns_.find(task);
        return again != columns_.end() && again->second.number == number &&
               again->second.index == view.index();
    };
    while (!column->left.empty()) {
        if (most == 0) return false;
        --most;
        const NodeLoad load = column->left.back();
        column->left.pop_back();
        score(*column, task, load, Effort::anew);
        if (give_way(lock) && !is_as_it_was()) return false;
    }
    if (column->caught_up >= versions.newest) return true;
    for (std::uint32_t position = 0; position < view.places(); ++position) {
        if (column->by_position[position].version >= versions.of[position]) continue;
        if (most == 0) return false;
        --most;
        score(*column, task, view.row(position), position, Effort::anew);
        if (give_way(lock) && !is_as_it_was()) return false;
    }
    column->caught_up = versions.newest;
    return true;
}

}  // namespace tessera
