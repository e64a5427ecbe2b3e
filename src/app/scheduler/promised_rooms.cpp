#include "app/scheduler/promised_rooms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

}  // namespace

const PromisedRooms::WhyRow& PromisedRooms::row_of(Why why) {
    static constexpr std::array<WhyRow, 6> kRows{{
        {Why::lost, "others hold it, or the node is out of order", true, false},
        {Why::not_asked, "kube-scheduler does not ask about that node any more", true, false},
        {Why::not_all, "not all may end that must", true, false},
        {Why::not_told, "nobody could be told to end", true, false},
        {Why::unclaimed, "it is free, and kube-scheduler does not take it: others may", false,
         true},
        {Why::slow, "who ends there does not, and others may end elsewhere", false, false},
    }};
    return *std::ranges::find(kRows, why, &WhyRow::why);
}

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

bool PromisedRooms::is_room_slow(const PodUid& pod) const {
    const auto room = rooms_.find(pod);
    return room != rooms_.end() && room->second.left.empty() && !room->second.free_since &&
           tools_.clock.steady() - room->second.since >= kSlow;
}

bool PromisedRooms::is_node_slow(const NodeName& node) const {
    const auto slow = slow_until_.find(node);
    return slow != slow_until_.end() && tools_.clock.steady() < slow->second;
}

void PromisedRooms::give_up_slow(const PodUid& pod) {
    const auto at = rooms_.find(pod);
    if (at == rooms_.end()) return;
    const auto room = rooms_.extract(at);
    slow_until_[room.mapped().node] = tools_.clock.steady() + kSlowNode;
    give_up(pod, room.mapped(), Why::slow);
}

Result<> PromisedRooms::check_fence() const {
    if (!tools_.begin_write || tools_.begin_write(Evictions::kTakes)) return {};
    return fail(Code::unavailable, "this tessera-controller is not the leader");
}

// Not where the pod waits no more, or kube-scheduler has nominated it since.
bool PromisedRooms::promise(const PendingPod& pod, const Room& room) {
    std::vector<PodUid> victims = room.told;
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
    Room room{.node = node, .pod = (*pod.ask)->name, .left = {}, .told = {}, .refused = refused};
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
    for (auto at = clears_.begin(); at != clears_.end();)
        at = is_cleared(at->first, at->second) ? clears_.erase(at) : std::next(at);
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
    const auto why = go_on(uid, **waits->pod.ask, room, stop);
    if (why) give_up(uid, room, *why);
    return why.has_value();
}

// Of those that are on the node now only the ones that were chosen may end, and of them only those
// that still must. Nothing where the promise is gone: is_over() sees it next time.
std::optional<PromisedRooms::Look> PromisedRooms::look_at(const PodUid& uid, const PodAsk& ask,
                                                          const Room& room) const {
    const auto node =
        tools_.keeper.ask([&](const ClusterState& state) { return state.promised_node(uid); });
    if (!node) return std::nullopt;
    std::vector<PodUid> others;
    for (const TenantPtr& tenant : node->tenants) {
        if (std::ranges::find(room.left, tenant->uid, &Victim::uid) == room.left.end())
            others.push_back(tenant->uid);
    }
    const PodAsk pod = tools_.keeper.view()->joined(ask);
    const Preemption plan = plan_preemption(*node, pod, room.told, others);
    if (plan.kind != Kind::evict) return Look{plan.kind, {}};
    return Look{plan.kind, plan.victims.front()->uid};
}

std::optional<PromisedRooms::Why> PromisedRooms::go_on(const PodUid& uid, const PodAsk& ask,
                                                       Room& room, const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    const RefusedPods::Asked asked = refused_.asked(uid);
    if (asked.without_since && asked.without_last - *asked.without_since >= kNotAsked)
        return Why::not_asked;
    for (;;) {
        const auto look = look_at(uid, ask, room);
        if (!look) return std::nullopt;
        if (look->kind == Kind::never) {
            room.lost_since = room.lost_since.value_or(now);
            return now - *room.lost_since < kLost ? std::optional<Why>() : Why::lost;
        }
        room.lost_since.reset();
        if (look->kind != Kind::evict) return hold(uid, ask, look->kind == Kind::fits, room);
        const std::size_t before = room.left.size();
        if (const auto why = make(uid, ask, *look->next, room, stop)) return why;
        if (room.left.size() == before) return std::nullopt;
    }
}

// It may be on its way there, or it may not run any more where its room is. Another replica may
// have offered it what it fits on.
bool PromisedRooms::may_go_elsewhere(const PodUid& uid, const PodAsk& ask, const Room& room) const {
    const RefusedPods::Asked asked = refused_.asked(uid);
    if (asked.without_since) return true;
    if (asked.offered && tools_.clock.steady() - *asked.offered < kOffered) return true;
    const auto view = tools_.keeper.view();
    const PodAsk pod = view->joined(ask);
    return std::ranges::any_of(room.refused.nodes, [&](const NodeName& name) {
        const NodeView* node = name == room.node ? nullptr : view->find(name.str());
        return node != nullptr && plan_preemption(*node, pod).kind == Kind::fits;
    });
}

// A budget that allows one eviction at a time allows the next one when another pod stands in for
// the first. Where it does not, what has ended has ended in vain.
std::optional<PromisedRooms::Why> PromisedRooms::make(const PodUid& uid, const PodAsk& ask,
                                                      const PodUid& next, Room& room,
                                                      const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    if (now - room.since >= kMaking) {
        if (room.is_held_up) several_after_ = now + kSeveral;
        return Why::not_all;
    }
    if (now < room.due || stop.stop_requested()) return std::nullopt;
    if (may_go_elsewhere(uid, ask, room)) return std::nullopt;
    const auto at = std::ranges::find(room.left, next, &Victim::uid);
    const auto fence = check_fence();
    const auto told = fence ? tell(*at, ask.name) : Result<Told>(fail(fence.error()));
    if (told && *told != Told::stays) {
        room.has_ended_some = room.has_ended_some || *told == Told::ends;
        room.told.push_back(next);
        room.left.erase(at);
        return std::nullopt;
    }
    room.is_held_up = told.has_value();
    // What was sent may have its effect though the answer was lost.
    if (!told && fence && told.error().code == Code::unavailable) room.has_ended_some = true;
    const std::string refused =
        fmt::format("pod {} may not be evicted any more, or not yet", at->name.str());
    put_off(room,
            (told ? Error{Code::unavailable, refused} : told.error()).in("pod " + ask.name.str()));
    return room.has_ended_some ? std::optional<Why>() : Why::not_told;
}

// Nobody more needs to end. The nomination is written though nobody ended: other replicas keep the
// room by it, and it wakes kube-scheduler.
std::optional<PromisedRooms::Why> PromisedRooms::hold(const PodUid& uid, const PodAsk& ask,
                                                      bool is_free, Room& room) {
    if (!room.left.empty()) {
        room.left.clear();
        tools_.keeper.ask(
            [&](ClusterState& state) { return state.promise(uid, room.node, room.told); });
    }
    const Time now = tools_.clock.steady();
    if (!room.is_nominated && now >= room.due) {
        room.may_be_nominated = true;
        clears_.erase(uid);
        const auto nominated = nominate(uid, ask.name, room.node);
        room.is_nominated = nominated.has_value();
        if (!nominated) put_off(room, nominated.error());
    }
    room.free_since = is_free ? room.free_since.value_or(now) : std::optional<Time>();
    if (!is_free || now - *room.free_since < kUnclaimed) return std::nullopt;
    return Why::unclaimed;
}

void PromisedRooms::put_off(Room& room, const Error& error) const {
    room.due = tools_.clock.steady() + RefusedPods::kRetry;
    log_event(Event::preemption_held, {{"reason", error.text}});
}

Result<> PromisedRooms::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    TRY_VOID(check_fence());
    return tools_.evictions.nominate(uid, pod, node);
}

Result<PromisedRooms::Told> PromisedRooms::tell(const Victim& victim, const PodName& preemptor) {
    const auto evicted = tools_.evictions.evict(victim.uid, victim.name);
    if (!evicted && evicted.error().code == Code::not_found) return Told::gone;
    if (!evicted) return fail(evicted.error());
    if (!*evicted) return Told::stays;
    tools_.metrics.count_preempted();
    log_event(Event::pod_preempted, {{"pod", victim.name.str()}, {"preemptor", preemptor.str()}});
    // It ends all the same; kube-scheduler may take the nomination back, and the promise stands.
    const auto marked = tools_.evictions.mark_preempted(victim.uid, victim.name, preemptor);
    if (!marked && marked.error().code == Code::unavailable)
        log_event(Event::api_trouble, {{"reason", marked.error().text}});
    return Told::ends;
}

void PromisedRooms::give_up(const PodUid& uid, const Room& room, Why why) {
    const WhyRow& row = row_of(why);
    refused_.watch_no_more(uid);
    tools_.keeper.ask([&](ClusterState& state) {
        const PendingPod* pending = state.pending(uid);
        if (pending != nullptr && pending->promised == room.node) state.give_up(uid);
        return true;
    });
    tools_.metrics.count_given_up();
    log_event(Event::room_given_up,
              {{"pod", room.pod.str()}, {"node", room.node.str()}, {"reason", row.text}});
    if (room.may_be_nominated) {
        Clear& clear = clears_.insert_or_assign(uid, Clear{room.node}).first->second;
        if (is_cleared(uid, clear)) clears_.erase(uid);
    }
    if (room.has_ended_some || row.rests) let_rest(uid);
    if (!row.is_begun_anew) return;
    const Time now = tools_.clock.steady();
    RefusedPods::Entry again = room.refused;
    again.last = now;
    refused_.put_back(uid, std::move(again), now);
}

void PromisedRooms::let_rest(const PodUid& uid) {
    Rest& rest = rests_[uid];
    rest.span = rest.span == Time{} ? Time(kRest) : rest.span * 2;
    rest.until = tools_.clock.steady() + rest.span;
}

// Other replicas keep the room by the nomination alone, and kube-scheduler lets it stand. True
// where nothing is left to do.
bool PromisedRooms::is_cleared(const PodUid& uid, Clear& clear) {
    const auto waits = waiting(uid);
    if (!waits) return true;
    const NodeName& nominated = waits->pod.nominated;
    if (!nominated.empty() && nominated != clear.node) return true;
    if (tools_.clock.steady() < clear.due) return false;
    const auto cleared = nominate(uid, (*waits->pod.ask)->name, NodeName());
    if (cleared || cleared.error().code != Code::unavailable) return true;
    log_event(Event::api_trouble, {{"reason", cleared.error().text}});
    clear.due = tools_.clock.steady() + RefusedPods::kRetry;
    return false;
}

}  // namespace tessera
