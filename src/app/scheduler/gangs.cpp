#include "app/scheduler/gangs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "app/scheduler/gang_rooms.hpp"
#include "app/scheduler/node_choice.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

GangId id_of(const PodAsk& pod) {
    return {pod.name.space, pod.gang->gang};
}

FilterAnswer refuse_all(const ExtenderArgs& args, const std::string& reason) {
    FilterAnswer answer;
    for (std::size_t i = 0; i < args.names.size(); ++i)
        answer.failed.push_back({i, reason});
    answer.obstacle = Obstacle::gang;
    return answer;
}

FilterAnswer only(const ExtenderArgs& args, std::string_view node) {
    FilterAnswer answer;
    const auto at = std::ranges::find(args.names, node);
    if (at != args.names.end())
        answer.fitting.push_back(static_cast<std::size_t>(at - args.names.begin()));
    return answer;
}

// The same in whatever order kube-scheduler names them.
std::size_t sum_of(const ExtenderArgs& args) {
    std::size_t sum = 0;
    for (const std::string_view name : args.names)
        sum += std::hash<std::string_view>()(name);
    return sum;
}

bool fits_on(ClusterState& state, const NodeName& node, const PodAsk& pod) {
    const auto view = state.view();
    const std::uint32_t position = view->position(node.str());
    if (position == NameIndex::kNone) return false;
    return best_node(*view, {&position, 1}, pod, nullptr).has_value();
}

bool is_kept(const ClusterState& state, const PodAskPtr& pod) {
    const PendingPod* pending = state.pending(pod->uid);
    return pending != nullptr && !pending->promised.empty();
}

// The rooms that are kept for these; how many there were.
std::size_t give_up(ClusterState& state, std::span<const PodAskPtr> members) {
    std::size_t count = 0;
    for (const PodAskPtr& member : members) {
        if (!is_kept(state, member)) continue;
        state.give_up(member->uid);
        ++count;
    }
    return count;
}

}  // namespace

FilterAnswer Gangs::filter(const ExtenderArgs& args, const PodAsk& pod) {
    return keeper_.ask([&](ClusterState& state) { return answer(state, args, pod); });
}

FilterAnswer Gangs::answer(ClusterState& state, const ExtenderArgs& args, const PodAsk& pod) {
    const auto rater = placements_ == nullptr ? nullptr : placements_->rater_of(pod);
    const auto as_any_pod = [&] { return choose_nodes(*state.view(), args, pod, rater.get(), 1); };
    if (state.view()->unseen(pod.uid) != nullptr) return as_any_pod();
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
    const NodeName kept_on = pending->promised;
    if (!kept_on.empty() && fits_on(state, kept_on, pod)) {
        if (auto own = only(args, kept_on.str()); !own.fitting.empty()) return own;
    }
    // As many as the gang's size run: this pod is one more of them, and the reservation it had is
    // of no use. There is no gang left to place, so it waits for nothing but its own GPUs.
    if (now.placed >= size) {
        if (!kept_on.empty()) state.give_up(pod.uid);
        return as_any_pod();
    }
    const auto kept = static_cast<std::size_t>(std::ranges::count_if(
        now.waiting, [&](const PodAskPtr& member) { return is_kept(state, member); }));
    if (kept_on.empty() && now.placed + kept >= size) return as_any_pod();
    return place(state, args, pod, now, size);
}

// Empty where nothing is known against looking for rooms.
std::string Gangs::known_reason(ClusterState& state, const ExtenderArgs& args, const GangId& id,
                                const GangNow& now, std::size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto rests = rests_until_.find(id);
    if (rests != rests_until_.end() && clock_.steady() < rests->second) {
        return fmt::format("gang {} was not placed in time, and lets others have their turn",
                           id.name);
    }
    const auto known = no_room_.find(id);
    if (known == no_room_.end()) return {};
    const NoRoom& last = known->second;
    const bool is_same = last.view == state.view() && last.nodes == sum_of(args) &&
                         last.pods == now.pods() && last.size == size;
    return is_same ? last.reason : std::string();
}

FilterAnswer Gangs::place(ClusterState& state, const ExtenderArgs& args, const PodAsk& pod,
                          const GangNow& now, std::size_t size) {
    const GangId id = id_of(pod);
    const std::string known = known_reason(state, args, id, now, size);
    if (!known.empty()) return refuse_all(args, known);
    give_up(state, now.waiting);
    const auto members = those_to_place(now, pod, size);
    const GangRooms rooms = promise_rooms(state, args.names, members, placements_);
    if (rooms.found < members.size()) {
        give_up(state, members);
        const std::string reason = fmt::format(
            "gang {} is placed as a whole: {} of its {} pods find room now, {} does not{}", id.name,
            now.placed + rooms.found, size, rooms.without, about_sizes(now));
        const std::scoped_lock lock(mutex_);
        no_room_.insert_or_assign(id, NoRoom{state.view(), sum_of(args), now.pods(), size, reason});
        return refuse_all(args, reason);
    }
    const std::scoped_lock lock(mutex_);
    no_room_.erase(id);
    kept_since_[id] = clock_.steady();
    return only(args, state.pending(pod.uid)->promised.str());
}

void Gangs::settle() {
    const Time now = clock_.steady();
    std::vector<GangId> late;
    {
        const std::scoped_lock lock(mutex_);
        // A view that is kept keeps its nodes.
        const auto view = keeper_.view();
        std::erase_if(no_room_, [&](const auto& of) { return of.second.view != view; });
        std::erase_if(rests_until_, [&](const auto& of) { return of.second <= now; });
        for (const auto& [id, since] : kept_since_) {
            if (now - since >= kPatience) late.push_back(id);
        }
        for (const GangId& id : late)
            kept_since_.erase(id);
    }
    for (const GangId& id : late) {
        const std::size_t given_up = keeper_.ask(
            [&](ClusterState& state) { return give_up(state, state.gang(id).waiting); });
        if (given_up == 0) continue;
        log_event(Event::gang_gave_up,
                  {{"gang", id.space + "/" + id.name}, {"pods", std::to_string(given_up)}});
        const std::scoped_lock lock(mutex_);
        rests_until_[id] = now + kRest;
    }
}

}  // namespace tessera
