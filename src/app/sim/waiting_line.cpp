#include "app/sim/waiting_line.hpp"

#include <bit>

namespace tessera {

std::size_t WaitingLine::Hash::operator()(const Task& task) const {
    std::uint64_t hash = task.models;
    for (const std::int32_t part :
         {task.cpu_milli, task.memory_mib, std::int32_t{task.milli}, std::int32_t{task.count}})
        hash = std::rotl((hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15U, 29);
    return static_cast<std::size_t>(hash);
}

void WaitingLine::add(std::size_t task) {
    Alike& alike = alike_[tasks_[task].task];
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

void WaitingLine::offer(const Fleet& fleet, std::size_t node,
                        const std::function<void(std::size_t)>& place) {
    for (auto at = by_first_.begin(); at != by_first_.end();) {
        const std::size_t task = at->first;
        if (!can_take(fleet.load(node), tasks_[task].task)) {
            ++at;
            continue;
        }
        drop_first(at);
        place(task);
        at = by_first_.upper_bound(task);
    }
}

}  // namespace tessera
