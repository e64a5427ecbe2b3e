#include "app/scheduler/promised_rooms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

}  // namespace

PromisedRooms::PromisedRooms(RoomTools tools, RefusedPods& refused)
    : tools_(std::move(tools)), refused_(refused) {}

std::optional<PromisedRooms::Waiting> PromisedRooms::waiting(const PodUid& uid) const {
    return tools_.keeper.ask([&](ClusterState& state) -> std::optional<Waiting> {
        const PendingPod* pending = state.pending(uid);
        const bool is_being_bound = pending == nullptr;
        if (is_being_bound) pending = state.set_aside(uid);
        if (pending == nullptr || !pending->ask) return std::nullopt;
        return Waiting{*pending, is_being_bound};
    });
}

std::size_t PromisedRooms::most_victims(const PodUid& pod) const {
    const Time now = tools_.clock.steady();
    if (const auto rest = rests_.find(pod); rest != rests_.end() && now < rest->second.until)
        return 0;
    return now < several_after_ ? 1 : kNoLimit;
}

bool PromisedRooms::is_slow(const PodUid& pod) const {
    const auto room = rooms_.find(pod);
    return room != rooms_.end() && room->second.left.empty() && !room->second.free_since &&
           tools_.clock.steady() - room->second.since >= kSlow;
}

bool PromisedRooms::is_slow(const NodeName& node) const {
    const auto slow = slow_until_.find(node);
    return slow != slow_until_.end() && tools_.clock.steady() < slow->second;
}

void PromisedRooms::give_up_slow(const PodUid& pod) {
    const auto at = rooms_.find(pod);
    if (at == rooms_.end()) return;
    const auto room = rooms_.extract(at);
    slow_until_[room.mapped().node] = tools_.clock.steady() + kSlowNode;
    give_up(pod, room.mapped(), {"who ends there does not, and others may end elsewhere", false});
}

Result<> PromisedRooms::check_fence() const {
    if (!tools_.begin_write || tools_.begin_write(Evictions::kTakes)) return {};
    return fail(Code::unavailable, "this tessera-controller is not the leader");
}

// Not where the pod waits no more, or kube-scheduler has nominated it since.
bool PromisedRooms::promise(const PendingPod& pod, const Room& room) {
    std::vector<PodUid> victims = room.ended;
    for (const Victim& victim : room.left)
        victims.push_back(victim.uid);
    const PodUid& uid = (*pod.ask)->uid;
    return tools_.keeper.ask([&](ClusterState& state) {
        const PendingPod* now = state.pending(uid);
        if (now == nullptr || now->nominated != pod.nominated) return false;
        return state.promise(uid, room.node, std::move(victims));
    });
}

Result<> PromisedRooms::begin(const PendingPod& pod, const NodeName& node, const Preemption& plan,
                              const RefusedPods::Entry& refused, const std::stop_token& stop) {
    TRY_VOID(check_fence());
    Room room{.node = node, .left = {}, .ended = {}, .refused = refused};
    room.since = tools_.clock.steady();
    for (const Tenant* victim : plan.victims)
        room.left.push_back({victim->uid, victim->name});
    if (!promise(pod, room)) return {};
    const PodAsk& ask = **pod.ask;
    log_event(Event::room_promised, {{"pod", ask.name.str()},
                                     {"node", node.str()},
                                     {"victims", static_cast<std::int64_t>(room.left.size())}});
    refused_.watch(ask.uid, node);
    if (!is_over(ask.uid, room, stop)) rooms_.insert_or_assign(ask.uid, std::move(room));
    count_ = rooms_.size();
    return {};
}

void PromisedRooms::tend(const std::stop_token& stop) {
    for (auto at = rooms_.begin(); at != rooms_.end();)
        at = is_over(at->first, at->second, stop) ? rooms_.erase(at) : std::next(at);
    count_ = rooms_.size();
    std::erase_if(rests_, [this](const auto& of) { return !waiting(of.first); });
    std::erase_if(slow_until_,
                  [now = tools_.clock.steady()](const auto& of) { return of.second <= now; });
}

bool PromisedRooms::is_over(const PodUid& uid, Room& room, const std::stop_token& stop) {
    const auto waits = waiting(uid);
    if (!waits || waits->pod.promised != room.node) {
        refused_.watch_no_more(uid);
        return true;
    }
    if (waits->is_being_bound) return false;
    const auto given_up = go_on(uid, **waits->pod.ask, room, stop);
    if (given_up) give_up(uid, room, *given_up);
    return given_up.has_value();
}

// Of those that are on the node now only the ones that were chosen may end, and of them only those
// that still must.
PromisedRooms::Look PromisedRooms::look_at(const PodUid& uid, const PodAsk& ask,
                                           const Room& room) const {
    const auto node =
        tools_.keeper.ask([&](const ClusterState& state) { return state.promised_node(uid); });
    if (!node) return {};
    std::vector<PodUid> others;
    for (const TenantPtr& tenant : node->tenants) {
        if (std::ranges::find(room.left, tenant->uid, &Victim::uid) == room.left.end())
            others.push_back(tenant->uid);
    }
    const Preemption plan = plan_preemption(*node, ask, tools_.policy, room.ended, others);
    if (plan.kind != Kind::evict) return {plan.kind, {}};
    return {plan.kind, plan.victims.front()->uid};
}

std::optional<PromisedRooms::GivenUp> PromisedRooms::go_on(const PodUid& uid, const PodAsk& ask,
                                                           Room& room,
                                                           const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    const auto without_since = refused_.asked(uid).without_since;
    if (without_since && now - *without_since >= kNotAsked) {
        return GivenUp{.why = "kube-scheduler does not ask about that node any more",
                       .is_in_vain = room.is_somebody_ended};
    }
    for (;;) {
        const Look look = look_at(uid, ask, room);
        if (look.kind == Kind::never)
            return GivenUp{.why = "others hold it", .is_in_vain = room.is_somebody_ended};
        if (look.kind != Kind::evict) return hold(uid, ask, look.kind == Kind::fits, room);
        const std::size_t before = room.left.size();
        if (auto given_up = make(uid, ask, *look.next, room, stop)) return given_up;
        if (room.left.size() == before) return std::nullopt;
    }
}

// A budget that allows one eviction at a time allows the next one when another pod stands in for
// the first. Where it does not, what has ended has ended in vain.
std::optional<PromisedRooms::GivenUp> PromisedRooms::make(const PodUid& uid, const PodAsk& ask,
                                                          const PodUid& next, Room& room,
                                                          const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    if (now - room.since >= kMaking) {
        if (room.is_somebody_ended) several_after_ = now + kSeveral;
        return GivenUp{.why = "not all may end that must", .is_in_vain = room.is_somebody_ended};
    }
    // The pod may be on its way elsewhere, or may not run there any more.
    const RefusedPods::Asked asked = refused_.asked(uid);
    const bool may_be_elsewhere =
        asked.without_since || (asked.offered && now - *asked.offered < kOffered);
    if (may_be_elsewhere || now < room.due || stop.stop_requested()) return std::nullopt;
    const auto at = std::ranges::find(room.left, next, &Victim::uid);
    const auto told = tell(*at, ask.name, room);
    if (told) {
        room.left.erase(at);
        room.ended.push_back(next);
        return std::nullopt;
    }
    if (room.ended.empty()) return GivenUp{.why = told.error().text};
    put_off(room, told.error());
    return std::nullopt;
}

// Nobody more needs to end. The nomination is written though nobody ended: other replicas keep the
// room by it, and it wakes kube-scheduler.
std::optional<PromisedRooms::GivenUp> PromisedRooms::hold(const PodUid& uid, const PodAsk& ask,
                                                          bool is_free, Room& room) {
    if (!room.left.empty()) {
        room.left.clear();
        tools_.keeper.ask(
            [&](ClusterState& state) { return state.promise(uid, room.node, room.ended); });
    }
    const Time now = tools_.clock.steady();
    if (!room.is_nominated && now >= room.due) {
        const auto nominated = nominate(uid, ask.name, room.node);
        room.is_nominated = nominated.has_value();
        if (!nominated) put_off(room, nominated.error());
    }
    room.free_since = is_free ? room.free_since.value_or(now) : std::optional<Time>();
    if (!is_free || now - *room.free_since < kUnclaimed) return std::nullopt;
    return GivenUp{.why = "it is free, and kube-scheduler does not take it: others may",
                   .is_begun_anew = false,
                   .is_in_vain = true};
}

void PromisedRooms::put_off(Room& room, const Error& error) const {
    room.due = tools_.clock.steady() + RefusedPods::kRetry;
    log_event(Event::preemption_held, {{"reason", error.text}});
}

Result<> PromisedRooms::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    TRY_VOID(check_fence());
    return tools_.evictions.nominate(uid, pod, node);
}

Result<> PromisedRooms::tell(const Victim& victim, const PodName& preemptor, Room& room) {
    TRY_VOID(check_fence());
    const auto evicted = tools_.evictions.evict(victim.uid, victim.name);
    if (!evicted && evicted.error().code == Code::not_found) return {};  // it is gone by itself
    if (!evicted) return fail(evicted.error().in("pod " + preemptor.str()));
    if (!*evicted) {
        return fail(Code::unavailable,
                    fmt::format("pod {}: pod {} may not be evicted any more, or not yet",
                                preemptor.str(), victim.name.str()));
    }
    room.is_somebody_ended = true;
    tools_.metrics.count_preempted();
    log_event(Event::pod_preempted, {{"pod", victim.name.str()}, {"preemptor", preemptor.str()}});
    // It ends all the same; kube-scheduler may take the nomination back, and the promise stands.
    const auto marked = tools_.evictions.mark_preempted(victim.uid, victim.name, preemptor);
    if (!marked && marked.error().code == Code::unavailable)
        log_event(Event::api_trouble, {{"reason", marked.error().text}});
    return {};
}

// Other replicas keep the room by the nomination alone, and kube-scheduler lets it stand.
void PromisedRooms::give_up(const PodUid& uid, const Room& room, const GivenUp& what) {
    const auto waits = waiting(uid);
    refused_.watch_no_more(uid);
    tools_.keeper.ask([&](ClusterState& state) {
        state.give_up(uid);
        return true;
    });
    if (!waits) return;
    const PodName& pod = (*waits->pod.ask)->name;
    tools_.metrics.count_given_up();
    log_event(Event::room_given_up,
              {{"pod", pod.str()}, {"node", room.node.str()}, {"reason", what.why}});
    const NodeName& nominated = waits->pod.nominated;
    if (room.is_nominated && (nominated == room.node || nominated.empty())) {
        const auto cleared = nominate(uid, pod, NodeName());
        if (!cleared) log_event(Event::preemption_held, {{"reason", cleared.error().text}});
    }
    if (what.is_in_vain) let_rest(uid);
    if (what.is_begun_anew) refused_.put_back(uid, room.refused, tools_.clock.steady());
}

void PromisedRooms::let_rest(const PodUid& uid) {
    Rest& rest = rests_[uid];
    rest.span = rest.span == Time{} ? Time(kRest) : rest.span * 2;
    rest.until = tools_.clock.steady() + rest.span;
}

}  // namespace tessera
