#include "simulator/churn/churn_ledger.hpp"

#include <algorithm>

namespace tessera {
namespace {

ChurnSize size_of(const ChurnTask& task) {
    if (task.gang > 1) return ChurnSize::gang;
    if (task.task.count > 1)
        return task.task.count < 8 ? ChurnSize::several : ChurnSize::eight_or_more;
    return task.task.milli < kMilliPerGpu ? ChurnSize::share : ChurnSize::gpu;
}

}  // namespace

ChurnWaits Waits::result() {
    ChurnWaits out;
    out.arrived = waits_.size();
    if (waits_.empty()) return out;
    double sum = 0;
    for (const double wait : waits_)
        sum += wait;
    const auto count = static_cast<double>(waits_.size());
    out.mean_wait_s = sum / count;
    out.waited = static_cast<double>(waited_) / count;
    out.abandoned_demand = asked_milli_ > 0 ? abandoned_milli_ / asked_milli_ : 0;
    // The nearest rank: the smallest wait that 99 of 100 waits do not exceed.
    const std::size_t rank = (99 * waits_.size() + 99) / 100;
    const auto p99 = waits_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::ranges::nth_element(waits_, p99);
    out.p99_wait_s = *p99;
    return out;
}

void Level::set(double at_s, double value) {
    const double now = std::clamp(at_s, window_.from_s, window_.to_s);
    sum_ += value_ * (now - since_s_);
    since_s_ = now;
    value_ = value;
}

double Level::mean() {
    set(window_.to_s, value_);
    return sum_ / std::max(window_.to_s - window_.from_s, 1.0);
}

double milli_of_all(const ChurnTask& task) {
    return static_cast<double>(milli_of(task.task)) * task.gang;
}

void Ledger::note_placed(std::size_t task, double at_s) {
    if (is_measured(at_s)) moves_.placed += static_cast<std::size_t>(tasks_[task].gang);
    if (counts(task)) waits_of(task).note_placed(at_s - tasks_[task].comes_s);
}

void Ledger::note_gave_up(std::size_t task) {
    if (counts(task)) waits_of(task).note_gave_up(window_.patience_s, milli_of_all(tasks_[task]));
}

void Ledger::note_helped(std::size_t task, double at_s) {
    if (is_measured(at_s)) ++moves_.helped.at(static_cast<std::size_t>(size_of(tasks_[task])));
}

void Ledger::note_evicted(std::size_t task, double at_s, double lost_s) {
    if (!is_measured(at_s)) return;
    ++moves_.evictions;
    lost_milli_s_ += lost_s * milli_of_all(tasks_[task]);
}

ChurnMoves Ledger::moves(double capacity_milli) const {
    ChurnMoves out = moves_;
    const double span = std::max(window_.to_s - window_.from_s, 1.0);
    out.lost_work = lost_milli_s_ / span / std::max(capacity_milli, 1.0);
    return out;
}

ChurnResult Ledger::result(double capacity_milli) {
    ChurnResult out;
    const double capacity = std::max(capacity_milli, 1.0);
    out.allocated = allocated_.mean() / capacity;
    out.fragmentation = fragments_.mean() / capacity;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        if (counts(i)) waits_of(i).note_asked(milli_of_all(tasks_[i]));
    }
    out.tasks = single_.result();
    out.gangs = gangs_.result();
    return out;
}

}  // namespace tessera
