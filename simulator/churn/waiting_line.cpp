#include "simulator/churn/waiting_line.hpp"

#include <algorithm>

namespace tessera {

void WaitingLine::add(std::size_t task) {
    Alike& alike = alike_[waiting_kind(tasks_[task])];
    if (alike.empty()) by_first_.emplace(task, &alike);
    alike.push_back(task);
    ++size_;
}

void WaitingLine::drop_first(std::map<std::size_t, Alike*>::iterator of) {
    Alike& alike = *of->second;
    by_first_.erase(of);
    alike.pop_front();
    --size_;
    if (!alike.empty()) by_first_.emplace(alike.front(), &alike);
}

std::optional<std::size_t> WaitingLine::take_before(double time_s) {
    if (by_first_.empty()) return std::nullopt;
    const std::size_t first = by_first_.begin()->first;
    if (tasks_[first].comes_s >= time_s) return std::nullopt;
    drop_first(by_first_.begin());
    return first;
}

bool WaitingLine::has(std::size_t task) const {
    const auto alike = alike_.find(waiting_kind(tasks_[task]));
    return alike != alike_.end() && std::ranges::binary_search(alike->second, task);
}

void WaitingLine::take(std::size_t task) {
    Alike& alike = alike_.at(waiting_kind(tasks_[task]));
    if (alike.front() == task) return drop_first(by_first_.find(task));
    alike.erase(std::ranges::lower_bound(alike, task));
    --size_;
}

void WaitingLine::node_gpus(const PlacementEngine& engine, std::size_t node,
                            const std::function<bool(std::size_t)>& place) {
    for (auto at = by_first_.begin(); at != by_first_.end();) {
        const std::size_t task = at->first;
        // If one task or gang finds no room, neither does any other of its kind.
        if (!can_take(engine.load(node), tasks_[task].task) || !place(task)) {
            ++at;
            continue;
        }
        drop_first(at);
        at = by_first_.upper_bound(task);
    }
}

}  // namespace tessera
