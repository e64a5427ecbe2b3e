#include "app/scheduler/self_preemption/unschedulable_pods.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace tessera {

void UnschedulablePods::refused(const PodUid& uid, int priority, std::vector<NodeName> nodes,
                                Time now) {
    const MutexLock lock(mutex_);
    if (const auto watched = watched_.find(uid); watched != watched_.end()) {
        Asked& asked = watched->second;
        const bool is_named = std::ranges::find(nodes, asked.node) != nodes.end();
        asked.offered.reset();
        asked.without_since = is_named ? std::optional<Time>() : asked.without_since.value_or(now);
        asked.without_last = now;
    }
    const auto [at, is_new] = waiting_.try_emplace(uid);
    Entry& entry = at->second;
    if (is_new) entry.due = now + kPatience;
    entry.due = std::min(entry.due, now + kPatience);
    entry.priority = priority;
    entry.nodes = std::move(nodes);
    entry.last = now;
    if (waiting_.size() > kMost) leave_one_out();
}

// Leaves one of several equal pods out at random, so that none is always left out.
void UnschedulablePods::leave_one_out() {
    const auto rank = [](const auto& of) {
        const Entry& entry = of.second;
        return std::tuple(entry.turns == 0, entry.priority, -entry.turns);
    };
    const auto least = rank(*std::ranges::min_element(waiting_, {}, rank));
    std::vector<PodUid> equals;
    for (const auto& of : waiting_) {
        if (rank(of) == least) equals.push_back(of.first);
    }
    waiting_.erase(
        equals[std::uniform_int_distribution<std::size_t>(0, equals.size() - 1)(chance_)]);
}

void UnschedulablePods::offered(const PodUid& uid, Time now) {
    const MutexLock lock(mutex_);
    waiting_.erase(uid);
    if (const auto watched = watched_.find(uid); watched != watched_.end())
        watched->second.offered = now;
}

UnschedulablePods::Due UnschedulablePods::take_due(Time now) {
    Due due;
    const MutexLock lock(mutex_);
    std::erase_if(waiting_, [&](const auto& of) { return now - of.second.last >= kForgotten; });
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        if (at->second.due > now) {
            ++at;
            continue;
        }
        due.emplace_back(at->first, std::move(at->second));
        at = waiting_.erase(at);
    }
    std::ranges::stable_sort(due, std::ranges::greater(),
                             [](const auto& of) { return of.second.priority; });
    return due;
}

void UnschedulablePods::put_back(const PodUid& uid, Entry entry, Time now) {
    entry.due = now + kRetry;
    ++entry.turns;
    const MutexLock lock(mutex_);
    const auto [at, is_new] = waiting_.try_emplace(uid);
    if (is_new) {
        at->second = std::move(entry);
        if (waiting_.size() > kMost) leave_one_out();
        return;
    }
    at->second.turns = entry.turns;
    at->second.nominated = std::move(entry.nominated);
    at->second.nominated_since = entry.nominated_since;
}

void UnschedulablePods::watch(const PodUid& uid, const NodeName& node) {
    const MutexLock lock(mutex_);
    watched_.insert_or_assign(uid, Asked{.node = node});
}

void UnschedulablePods::watch_no_more(const PodUid& uid) {
    const MutexLock lock(mutex_);
    watched_.erase(uid);
}

UnschedulablePods::Asked UnschedulablePods::asked(const PodUid& uid) const {
    const MutexLock lock(mutex_);
    const auto at = watched_.find(uid);
    return at == watched_.end() ? Asked{} : at->second;
}

}  // namespace tessera
