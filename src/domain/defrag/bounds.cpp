#include "domain/defrag/bounds.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::defrag {
namespace {

// Of the `count` smallest.
std::int64_t sum_of_smallest(std::vector<std::int64_t> costs, std::size_t count) {
    if (costs.size() < count) return kNever;
    if (count == 0) return 0;
    const auto end = costs.begin() + static_cast<std::ptrdiff_t>(count);
    const auto last = std::prev(end);
    std::ranges::nth_element(costs, last);
    return *last >= kNever ? kNever : std::accumulate(costs.begin(), end, std::int64_t{0});
}

const ContainerRequest& whole_card() {
    static const ContainerRequest whole;
    return whole;
}

}  // namespace

Bounds::Bounds(const Layout& layout, const Goal& goal)
    : layout_(layout), goal_(goal), costs_(layout.nodes()) {
    if (const auto* free = std::get_if<FreeCards>(&goal))
        free_wanted_ = layout.room().free_cards + free->cards;
    if (const auto* room = std::get_if<RoomFor>(&goal)) barred_ = layout.barred_nodes(room->barred);
    for (std::size_t node = 0; node < layout.nodes(); ++node)
        refresh(node);
}

void Bounds::count(std::int64_t cost, int by) {
    if (by > 0) {
        ++costs_counted_[cost];
        return;
    }
    const auto counted = costs_counted_.find(cost);
    if (--counted->second == 0) costs_counted_.erase(counted);
}

void Bounds::refresh(std::size_t node) {
    std::vector<std::int64_t>& costs = costs_[node];
    for (const std::int64_t cost : costs)
        count(cost, -1);
    if (const auto* room = std::get_if<RoomFor>(&goal_)) {
        costs.assign(1, cost_of_room(*room, node));
    } else {
        costs.clear();
        costs.reserve(layout_.cards(node));
        for (std::size_t card = 0; card < layout_.cards(node); ++card)
            costs.push_back(layout_.cost(whole_card(), node, card));
    }
    for (const std::int64_t cost : costs)
        count(cost, 1);
}

std::int64_t Bounds::cost_of_room(const RoomFor& room, std::size_t node) {
    const PodRequest& request = room.pod.request;
    const bool single = layout_.view(node).offer().single_share;
    if (!layout_.is_open(node) || (!barred_.empty() && barred_[node] != 0) ||
        (single && !asks_one_share(request)))
        return kNever;
    // Each container alone needs so many; together they need no fewer.
    std::int64_t most = 0;
    for (const ContainerRequest& container : request) {
        std::vector<std::int64_t> cards;
        cards.reserve(layout_.cards(node));
        for (std::size_t card = 0; card < layout_.cards(node); ++card)
            cards.push_back(layout_.cost(container, node, card));
        most = std::max(
            most, sum_of_smallest(std::move(cards), static_cast<std::size_t>(container.gpu.gpus)));
    }
    if (most > 0) return most;
    Placer placer(request);
    if (layout_.fits(placer, room.pod.host, node)) return 0;
    return could_fit(placer, room.pod.host, node) ? kLeastPart : kNever;
}

// Rules on cards, links, CPU and memory are not in the costs: where they are against the node no
// moves help.
bool Bounds::could_fit(Placer& placer, const HostAsk& host, std::size_t node) {
    could_fit_.resize(layout_.nodes());
    if (!could_fit_[node]) could_fit_[node] = layout_.could_fit(placer, host, node);
    return *could_fit_[node];
}

// What moves() adds up: one node's room, or so many cards.
std::size_t Bounds::counted() const {
    return std::holds_alternative<RoomFor>(goal_) ? 1 : static_cast<std::size_t>(free_wanted_);
}

std::int64_t Bounds::moves() const {
    std::size_t left = counted();
    std::int64_t parts = 0;
    for (const auto& [cost, times] : costs_counted_) {
        if (left == 0 || cost >= kNever) break;
        const std::size_t taken = std::min(left, times);
        parts += cost * static_cast<std::int64_t>(taken);
        left -= taken;
    }
    return left > 0 ? kNever : (parts + kOneMove - 1) / kOneMove;
}

std::int64_t Bounds::edge() const {
    std::size_t left = counted();
    if (left == 0) return kNever;
    for (const auto& [cost, times] : costs_counted_) {
        if (times >= left) return cost;
        left -= times;
    }
    return kNever;
}

bool Bounds::may_lower(const Lodger& lodger, std::int64_t edge) const {
    if (layout_.has_nominees(lodger.node)) return true;
    const auto is_near = [&](std::int64_t cost) { return cost > 0 && cost < edge + kOneMove; };
    const std::vector<std::int64_t>& costs = costs_[lodger.node];
    if (std::holds_alternative<RoomFor>(goal_)) return is_near(costs.front());
    return std::ranges::any_of(lodger.cards,
                               [&](std::size_t card) { return is_near(costs[card]); });
}

NodeName Bounds::fits_on() const {
    for (std::size_t node = 0; node < costs_.size(); ++node) {
        if (!costs_[node].empty() && costs_[node].front() == 0)
            return layout_.view(node).inventory.name;
    }
    return {};
}

}  // namespace tessera::defrag
