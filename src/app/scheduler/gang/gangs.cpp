#include "app/scheduler/gang/gangs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/gang/gang_reservations.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

GangId id_of(const PodRequest& pod) {
    return {pod.name.ns, pod.gang->gang};
}

FilterAnswer refuse_all(const ExtenderArgs& args, const std::string& reason) {
    FilterAnswer answer;
    for (std::size_t i = 0; i < args.names.size(); ++i)
        answer.failed.push_back({i, reason});
    answer.reason = UnschedulableReason::gang;
    return answer;
}

FilterAnswer only(const ExtenderArgs& args, std::string_view node) {
    FilterAnswer answer;
    const auto at = std::ranges::find(args.names, node);
    if (at != args.names.end())
        answer.fitting.push_back(static_cast<std::size_t>(at - args.names.begin()));
    return answer;
}

// Does not depend on the order in which kube-scheduler names the nodes.
std::size_t sum_of(const ExtenderArgs& args) {
    std::size_t sum = 0;
    for (const std::string_view name : args.names)
        sum += std::hash<std::string_view>()(name);
    return sum;
}

bool fits_on(ClusterState& state, const NodeName& node, const PodRequest& pod) {
    const auto snapshot = state.snapshot();
    const std::uint32_t position = snapshot->position(node.str());
    if (position == NameIndex::kNone) return false;
    return best_node(*snapshot, {&position, 1}, pod, nullptr).has_value();
}

bool has_reservation(const ClusterState& state, const PodRequestPtr& pod) {
    const PendingPod* pending = state.pending(pod->uid);
    return pending != nullptr && !pending->reserved_node.empty();
}

// Gives up the reservations of these pods; returns how many there were.
std::size_t give_up(ClusterState& state, std::span<const PodRequestPtr> members) {
    std::size_t count = 0;
    for (const PodRequestPtr& member : members) {
        if (!has_reservation(state, member)) continue;
        state.give_up(member->uid);
        ++count;
    }
    return count;
}

}  // namespace

FilterAnswer Gangs::filter(const ExtenderArgs& args, const PodRequest& pod) {
    return cache_.call([&](ClusterState& state) { return answer(state, args, pod); });
}

FilterAnswer Gangs::answer(ClusterState& state, const ExtenderArgs& args, const PodRequest& pod) {
    const auto scorer = policies_ == nullptr ? nullptr : policies_->scorer_of(pod);
    const auto as_any_pod = [&] {
        return choose_nodes(*state.snapshot(), args, pod, scorer.get(), 1);
    };
    if (state.snapshot()->unobserved(pod.uid) != nullptr) return as_any_pod();
    const auto asked = state.gang_size(pod);
    if (!asked) {
        return refuse_all(args, fmt::format("there is no PodGroup {} yet, which says how many pods "
                                            "are placed together",
                                            pod.gang->gang));
    }
    if (*asked == 0) return as_any_pod();
    const GangNow now = state.gang(id_of(pod));
    const auto size = static_cast<std::size_t>(*asked);
    if (now.pods() < size) {
        return refuse_all(
            args, fmt::format("gang {} waits for its pods: {} of {} are there{}", pod.gang->gang,
                              now.pods(), size, about_the_others(now)));
    }
    const PendingPod* pending = state.pending(pod.uid);
    if (pending == nullptr) return refuse_all(args, "the pod is not known yet");
    const NodeName reserved_on = pending->reserved_node;
    if (!reserved_on.empty() && fits_on(state, reserved_on, pod)) {
        if (auto own = only(args, reserved_on.str()); !own.fitting.empty()) return own;
    }
    // The gang is placed already, so this pod is an additional one and needs no reservation with
    // the others. It waits only for its own GPUs.
    if (now.placed >= size) {
        if (!reserved_on.empty()) state.give_up(pod.uid);
        return as_any_pod();
    }
    const auto kept = static_cast<std::size_t>(std::ranges::count_if(
        now.waiting, [&](const PodRequestPtr& member) { return has_reservation(state, member); }));
    if (reserved_on.empty() && now.placed + kept >= size) return as_any_pod();
    return place(state, args, pod, now, size);
}

// Empty if no known reason prevents a search for reservations.
std::string Gangs::known_reason(ClusterState& state, const ExtenderArgs& args, const GangId& id,
                                const GangNow& now, std::size_t size) {
    const MutexLock lock(mutex_);
    const auto rests = rests_until_.find(id);
    if (rests != rests_until_.end() && clock_.steady() < rests->second) {
        return fmt::format("gang {} was not placed in time, and lets others have their turn",
                           id.name);
    }
    const auto known = no_room_.find(id);
    if (known == no_room_.end()) return {};
    const NoRoom& last = known->second;
    const bool is_same = last.snapshot == state.snapshot() && last.nodes == sum_of(args) &&
                         last.pods == now.pods() && last.size == size;
    return is_same ? last.reason : std::string();
}

FilterAnswer Gangs::place(ClusterState& state, const ExtenderArgs& args, const PodRequest& pod,
                          const GangNow& now, std::size_t size) {
    const GangId id = id_of(pod);
    const std::string known = known_reason(state, args, id, now, size);
    if (!known.empty()) return refuse_all(args, known);
    give_up(state, now.waiting);
    const auto members = those_to_place(now, pod, size);
    const GangReservations reservations = reserve_for_gang(state, args.names, members, policies_);
    if (reservations.found < members.size()) {
        give_up(state, members);
        const std::string reason = fmt::format(
            "gang {} is placed as a whole: {} of its {} pods find room now, {} does not{}", id.name,
            now.placed + reservations.found, size, reservations.without, about_sizes(now));
        const MutexLock lock(mutex_);
        no_room_.insert_or_assign(id,
                                  NoRoom{state.snapshot(), sum_of(args), now.pods(), size, reason});
        return refuse_all(args, reason);
    }
    const MutexLock lock(mutex_);
    no_room_.erase(id);
    reserved_since_[id] = clock_.steady();
    return only(args, state.pending(pod.uid)->reserved_node.str());
}

void Gangs::reconcile() {
    const Time now = clock_.steady();
    std::vector<GangId> late;
    {
        const MutexLock lock(mutex_);
        // A snapshot that is held keeps its nodes in memory, so entries with an older one are
        // dropped.
        const auto snapshot = cache_.snapshot();
        std::erase_if(no_room_, [&](const auto& of) { return of.second.snapshot != snapshot; });
        std::erase_if(rests_until_, [&](const auto& of) { return of.second <= now; });
        for (const auto& [id, since] : reserved_since_) {
            if (now - since >= kPatience) late.push_back(id);
        }
        for (const GangId& id : late)
            reserved_since_.erase(id);
    }
    for (const GangId& id : late) {
        const std::size_t given_up = cache_.call(
            [&](ClusterState& state) { return give_up(state, state.gang(id).waiting); });
        if (given_up == 0) continue;
        log_event(Event::gang_gave_up,
                  {{"gang", id.ns + "/" + id.name}, {"pods", std::to_string(given_up)}});
        const MutexLock lock(mutex_);
        rests_until_[id] = now + kRest;
    }
}

}  // namespace tessera
