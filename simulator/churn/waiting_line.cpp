#include "simulator/churn/waiting_line.hpp"

#include <algorithm>

namespace tessera {

void WaitingLine::add(std::size_t task) {
    Indices& indices = classes_[class_of(tasks_[task])];
    if (indices.empty()) by_first_.emplace(task, &indices);
    indices.push_back(task);
    ++size_;
}

void WaitingLine::drop_first(std::map<std::size_t, Indices*>::iterator of) {
    Indices& indices = *of->second;
    by_first_.erase(of);
    indices.pop_front();
    --size_;
    if (!indices.empty()) by_first_.emplace(indices.front(), &indices);
}

std::optional<std::size_t> WaitingLine::pop_arrived_before(double time_s) {
    if (by_first_.empty()) return std::nullopt;
    const std::size_t first = by_first_.begin()->first;
    if (tasks_[first].comes_s >= time_s) return std::nullopt;
    drop_first(by_first_.begin());
    return first;
}

bool WaitingLine::contains(std::size_t task) const {
    const auto indices = classes_.find(class_of(tasks_[task]));
    return indices != classes_.end() && std::ranges::binary_search(indices->second, task);
}

void WaitingLine::remove(std::size_t task) {
    Indices& indices = classes_.at(class_of(tasks_[task]));
    if (indices.front() == task) return drop_first(by_first_.find(task));
    indices.erase(std::ranges::lower_bound(indices, task));
    --size_;
}

void WaitingLine::place_waiting_on(const PlacementEngine& engine, std::size_t node,
                                   const std::function<bool(std::size_t)>& place) {
    for (auto at = by_first_.begin(); at != by_first_.end();) {
        const std::size_t task = at->first;
        // If one task or gang cannot be placed, no other of its class can.
        if (!can_take(engine.load(node), tasks_[task].task) || !place(task)) {
            ++at;
            continue;
        }
        drop_first(at);
        at = by_first_.upper_bound(task);
    }
}

}  // namespace tessera
