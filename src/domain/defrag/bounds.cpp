#include "domain/defrag/bounds.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::defrag {
namespace {

// The sum of the `count` smallest costs.
std::int64_t sum_of_smallest(std::vector<std::int64_t> costs, std::size_t count) {
    if (costs.size() < count) return kNever;
    if (count == 0) return 0;
    const auto end = costs.begin() + static_cast<std::ptrdiff_t>(count);
    const auto last = std::prev(end);
    std::ranges::nth_element(costs, last);
    return *last >= kNever ? kNever : std::accumulate(costs.begin(), end, std::int64_t{0});
}

const ContainerRequest& whole_gpu() {
    static const ContainerRequest whole;
    return whole;
}

}  // namespace

Bounds::Bounds(const DefragState& state, const Goal& goal)
    : state_(state), goal_(goal), costs_(state.nodes()) {
    if (const auto* free = std::get_if<FreeGpus>(&goal))
        free_wanted_ = state.free_capacity().free_gpus + free->gpus;
    if (const auto* room = std::get_if<RoomFor>(&goal)) barred_ = state.barred_nodes(room->barred);
    for (std::size_t node = 0; node < state.nodes(); ++node) {
        refresh(node);
        if (state.has_nominees(node)) with_nominees_.push_back(node);
    }
}

void Bounds::refresh(std::size_t node) {
    std::vector<std::int64_t>& costs = costs_[node];
    for (std::size_t i = 0; i < costs.size(); ++i) {
        const auto at = by_cost_.find(costs[i]);
        at->second.erase({node, i});
        if (at->second.empty()) by_cost_.erase(at);
    }
    if (const auto* room = std::get_if<RoomFor>(&goal_)) {
        costs.assign(1, cost_of_room(*room, node));
    } else {
        costs.clear();
        costs.reserve(state_.gpus(node));
        for (std::size_t gpu = 0; gpu < state_.gpus(node); ++gpu)
            costs.push_back(state_.cost(whole_gpu(), node, gpu));
    }
    for (std::size_t i = 0; i < costs.size(); ++i)
        by_cost_[costs[i]].insert({node, i});
}

std::int64_t Bounds::cost_of_room(const RoomFor& room, std::size_t node) {
    const ContainerRequests& request = room.pod.containers;
    const bool single = state_.original(node).node_gpus().single_share;
    if (!state_.is_open(node) || (!barred_.empty() && barred_[node] != 0) ||
        (single && !asks_one_share(request)))
        return kNever;
    // The moves that a single container needs; all of them together need at least as many.
    std::int64_t most = 0;
    for (const ContainerRequest& container : request) {
        std::vector<std::int64_t> gpus;
        gpus.reserve(state_.gpus(node));
        for (std::size_t gpu = 0; gpu < state_.gpus(node); ++gpu)
            gpus.push_back(state_.cost(container, node, gpu));
        most = std::max(
            most, sum_of_smallest(std::move(gpus), static_cast<std::size_t>(container.gpu.gpus)));
    }
    if (most > 0) return most;
    Placer placer(request);
    if (state_.fits(placer, room.pod.host, node)) return 0;
    return could_fit(placer, room.pod.host, node) ? kLeastPart : kNever;
}

// The costs ignore rules on GPUs, links, CPU and memory. If these exclude the node, no moves help.
bool Bounds::could_fit(Placer& placer, const HostRequest& host, std::size_t node) {
    could_fit_.resize(state_.nodes());
    if (!could_fit_[node]) could_fit_[node] = state_.could_fit(placer, host, node);
    return *could_fit_[node];
}

// The number of costs that moves() adds up: one node, or the wanted number of GPUs.
std::size_t Bounds::counted() const {
    return std::holds_alternative<RoomFor>(goal_) ? 1 : static_cast<std::size_t>(free_wanted_);
}

std::int64_t Bounds::moves() const {
    std::size_t left = counted();
    std::int64_t parts = 0;
    for (const auto& [cost, where] : by_cost_) {
        if (left == 0 || cost >= kNever) break;
        const std::size_t taken = std::min(left, where.size());
        parts += cost * static_cast<std::int64_t>(taken);
        left -= taken;
    }
    return left > 0 ? kNever : (parts + kOneMove - 1) / kOneMove;
}

std::int64_t Bounds::edge() const {
    std::size_t left = counted();
    if (left == 0) return kNever;
    for (const auto& [cost, where] : by_cost_) {
        if (where.size() >= left) return cost;
        left -= where.size();
    }
    return kNever;
}

std::vector<std::size_t> Bounds::who_may_lower() const {
    std::vector<std::size_t> out;
    const auto add = [&](std::size_t node, std::size_t gpu) {
        const auto on = state_.placed_on(node, gpu);
        out.insert(out.end(), on.begin(), on.end());
    };
    const auto add_all = [&](std::size_t node) {
        for (std::size_t gpu = 0; gpu < state_.gpus(node); ++gpu)
            add(node, gpu);
    };
    const bool is_of_nodes = std::holds_alternative<RoomFor>(goal_);
    const std::int64_t end = edge() + kOneMove;
    for (auto near = by_cost_.upper_bound(0); near != by_cost_.end() && near->first < end; ++near) {
        for (const auto& [node, gpu] : near->second)
            is_of_nodes ? add_all(node) : add(node, gpu);
    }
    std::ranges::for_each(with_nominees_, add_all);
    std::ranges::sort(out);
    const auto twice = std::ranges::unique(out);
    out.erase(twice.begin(), twice.end());
    return out;
}

NodeName Bounds::fits_on() const {
    for (std::size_t node = 0; node < costs_.size(); ++node) {
        if (!costs_[node].empty() && costs_[node].front() == 0)
            return state_.original(node).inventory.name;
    }
    return {};
}

}  // namespace tessera::defrag
