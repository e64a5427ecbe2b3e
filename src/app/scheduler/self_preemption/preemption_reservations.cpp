#include "app/scheduler/self_preemption/preemption_reservations.hpp"

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

const PreemptionReservations::WhyRow& PreemptionReservations::row_of(Why why) {
    static constexpr std::array<WhyRow, 6> kRows{{
        {Why::lost, "other pods have its GPUs, or the node cannot be used", true, false},
        {Why::not_asked, "kube-scheduler no longer asks about that node", true, false},
        {Why::not_all, "some pods that must be evicted may not be", true, false},
        {Why::none_evicted, "no pod could be evicted", true, false},
        {Why::unclaimed, "its GPUs are free and kube-scheduler does not use them: other pods may",
         false, true},
        {Why::slow, "the evicted pods do not terminate, and pods elsewhere can be evicted", false,
         false},
    }};
    return *std::ranges::find(kRows, why, &WhyRow::why);
}

PreemptionReservations::PreemptionReservations(ReservationTools tools, UnschedulablePods& refused)
    : tools_(std::move(tools)), refused_(refused) {}

std::optional<PreemptionReservations::Waiting> PreemptionReservations::waiting(
    const PodUid& uid) const {
    return tools_.cache.call([&](ClusterState& state) -> std::optional<Waiting> {
        const PendingPod* pending = state.pending(uid);
        const bool is_being_bound = pending == nullptr;
        if (is_being_bound) pending = state.being_bound(uid);
        if (pending == nullptr || !pending->request) return std::nullopt;
        return Waiting{*pending, is_being_bound};
    });
}

std::size_t PreemptionReservations::most_victims(const PodUid& pod) const {
    const Time now = tools_.clock.steady();
    if (const auto rest = rests_.find(pod); rest != rests_.end() && now < rest->second.until)
        return 0;
    return now < several_after_ ? 1 : kNoLimit;
}

bool PreemptionReservations::is_slow(const PodUid& pod) const {
    const auto reservation = reservations_.find(pod);
    return reservation != reservations_.end() && reservation->second.left.empty() &&
           !reservation->second.free_since &&
           tools_.clock.steady() - reservation->second.since >= kSlow;
}

bool PreemptionReservations::is_node_slow(const NodeName& node) const {
    const auto slow = slow_until_.find(node);
    return slow != slow_until_.end() && tools_.clock.steady() < slow->second;
}

void PreemptionReservations::give_up_slow(const PodUid& pod) {
    const auto at = reservations_.find(pod);
    if (at == reservations_.end()) return;
    const auto reservation = reservations_.extract(at);
    slow_until_[reservation.mapped().node] = tools_.clock.steady() + kSlowNode;
    give_up(pod, reservation.mapped(), Why::slow);
}

// False if the pod waits no more, or was nominated since, by kube-scheduler or by the nominator.
bool PreemptionReservations::reserve_node(const PendingPod& pod,
                                          const NodeReservation& reservation) {
    std::vector<PodUid> victims = reservation.evicted;
    for (const Victim& victim : reservation.left)
        victims.push_back(victim.uid);
    const PodUid& uid = (*pod.request)->uid;
    return tools_.cache.call([&](ClusterState& state) {
        const PendingPod* now = state.pending(uid);
        if (now == nullptr || now->nominated != pod.nominated || now->is_nominated_ahead())
            return false;
        return state.reserve_node(uid, reservation.node, ReservedBy::preemption,
                                  std::move(victims));
    });
}

Result<> PreemptionReservations::begin(const PendingPod& pod, const NodeName& node,
                                       const Preemption& plan,
                                       const UnschedulablePods::Entry& refused,
                                       const std::stop_token& stop) {
    TRY_VOID(tools_.fence.begin(Evictions::kTakes));
    NodeReservation reservation{
        .node = node, .pod = (*pod.request)->name, .left = {}, .evicted = {}, .refused = refused};
    reservation.since = tools_.clock.steady();
    for (const AssignedPod* victim : plan.victims)
        reservation.left.push_back({victim->uid, victim->name});
    if (!reserve_node(pod, reservation)) return {};
    const PodRequest& request = **pod.request;
    log_event(Event::reservation_made,
              {{"pod", request.name.str()},
               {"node", node.str()},
               {"victims", static_cast<std::int64_t>(reservation.left.size())}});
    refused_.watch(request.uid, node);
    if (!is_over(request.uid, reservation, stop))
        reservations_.insert_or_assign(request.uid, std::move(reservation));
    count_ = reservations_.size();
    return {};
}

void PreemptionReservations::tend(const std::stop_token& stop) {
    for (auto at = reservations_.begin(); at != reservations_.end();)
        at = is_over(at->first, at->second, stop) ? reservations_.erase(at) : std::next(at);
    count_ = reservations_.size();
    for (auto at = clears_.begin(); at != clears_.end();)
        at = is_cleared(at->first, at->second) ? clears_.erase(at) : std::next(at);
    std::erase_if(rests_, [this](const auto& of) { return !waiting(of.first); });
    std::erase_if(slow_until_,
                  [now = tools_.clock.steady()](const auto& of) { return of.second <= now; });
}

bool PreemptionReservations::is_over(const PodUid& uid, NodeReservation& reservation,
                                     const std::stop_token& stop) {
    const auto waits = waiting(uid);
    if (!waits || waits->pod.reserved_node != reservation.node) {
        refused_.watch_no_more(uid);
        return true;
    }
    if (waits->is_being_bound) return false;
    const auto why = go_on(uid, **waits->pod.request, reservation, stop);
    if (why) give_up(uid, reservation, *why);
    return why.has_value();
}

// Of the pods on the node, only the chosen victims may be evicted, and of them only those that are
// still needed. Nothing if the reservation is gone: is_over() detects that next time.
std::optional<PreemptionReservations::Look> PreemptionReservations::look_at(
    const PodUid& uid, const PodRequest& request, const NodeReservation& reservation) const {
    const auto node =
        tools_.cache.call([&](const ClusterState& state) { return state.reserved_node(uid); });
    if (!node) return std::nullopt;
    std::vector<PodUid> others;
    for (const AssignedPodPtr& assigned_pod : node->assigned_pods) {
        if (std::ranges::find(reservation.left, assigned_pod->uid, &Victim::uid) ==
            reservation.left.end())
            others.push_back(assigned_pod->uid);
    }
    const PodRequest pod = tools_.cache.snapshot()->joined(request);
    const Preemption plan = plan_preemption(*node, pod, reservation.evicted, others);
    if (plan.kind != Kind::evict) return Look{plan.kind, {}};
    return Look{plan.kind, plan.victims.front()->uid};
}

std::optional<PreemptionReservations::Why> PreemptionReservations::go_on(
    const PodUid& uid, const PodRequest& request, NodeReservation& reservation,
    const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    const UnschedulablePods::Asked asked = refused_.asked(uid);
    if (asked.without_since && asked.without_last - *asked.without_since >= kNotAsked)
        return Why::not_asked;
    for (;;) {
        const auto look = look_at(uid, request, reservation);
        if (!look) return std::nullopt;
        if (look->kind == Kind::never) {
            reservation.lost_since = reservation.lost_since.value_or(now);
            return now - *reservation.lost_since < kLost ? std::optional<Why>() : Why::lost;
        }
        reservation.lost_since.reset();
        if (look->kind != Kind::evict)
            return keep(uid, request, look->kind == Kind::fits, reservation);
        const std::size_t before = reservation.left.size();
        if (const auto why = evict_next(uid, request, *look->next, reservation, stop)) return why;
        if (reservation.left.size() == before) return std::nullopt;
    }
}

// True if the pod may be on its way to another node, or may not run on the reserved node any more.
// Another replica may have offered it a node where it fits.
bool PreemptionReservations::may_go_elsewhere(const PodUid& uid, const PodRequest& request,
                                              const NodeReservation& reservation) const {
    const UnschedulablePods::Asked asked = refused_.asked(uid);
    if (asked.without_since) return true;
    if (asked.offered && tools_.clock.steady() - *asked.offered < kOffered) return true;
    const auto snapshot = tools_.cache.snapshot();
    const PodRequest pod = snapshot->joined(request);
    return std::ranges::any_of(reservation.refused.nodes, [&](const NodeName& name) {
        const NodeInfo* node = name == reservation.node ? nullptr : snapshot->find(name.str());
        return node != nullptr && plan_preemption(*node, pod).kind == Kind::fits;
    });
}

// A budget that allows one eviction at a time allows the next one when a new pod replaces the
// first. If it never does, the evictions so far were without use.
std::optional<PreemptionReservations::Why> PreemptionReservations::evict_next(
    const PodUid& uid, const PodRequest& request, const PodUid& next, NodeReservation& reservation,
    const std::stop_token& stop) {
    const Time now = tools_.clock.steady();
    if (now - reservation.since >= kEvicting) {
        if (reservation.is_held_up) several_after_ = now + kSeveral;
        return Why::not_all;
    }
    if (now < reservation.due || stop.stop_requested()) return std::nullopt;
    if (may_go_elsewhere(uid, request, reservation)) return std::nullopt;
    const auto at = std::ranges::find(reservation.left, next, &Victim::uid);
    const auto fence = tools_.fence.begin(Evictions::kTakes);
    const auto outcome =
        fence ? evict(*at, request.name) : Result<EvictionOutcome>(fail(fence.error()));
    if (outcome && *outcome != EvictionOutcome::forbidden) {
        reservation.may_have_evicted =
            reservation.may_have_evicted || *outcome == EvictionOutcome::evicted;
        reservation.evicted.push_back(next);
        reservation.left.erase(at);
        return std::nullopt;
    }
    reservation.is_held_up = outcome.has_value();
    // The eviction may have happened although its answer was lost.
    if (!outcome && fence && outcome.error().code == Code::unavailable)
        reservation.may_have_evicted = true;
    const std::string refused =
        fmt::format("pod {} may not be evicted any more, or not yet", at->name.str());
    put_off(reservation, (outcome ? Error{Code::unavailable, refused} : outcome.error())
                             .in("pod " + request.name.str()));
    return reservation.may_have_evicted ? std::optional<Why>() : Why::none_evicted;
}

// No more pods need to be evicted. The nomination is written even if none was: other replicas keep
// the reservation by it, and it wakes kube-scheduler.
std::optional<PreemptionReservations::Why> PreemptionReservations::keep(
    const PodUid& uid, const PodRequest& request, bool is_free, NodeReservation& reservation) {
    if (!reservation.left.empty()) {
        reservation.left.clear();
        tools_.cache.call([&](ClusterState& state) {
            return state.reserve_node(uid, reservation.node, ReservedBy::preemption,
                                      reservation.evicted);
        });
    }
    const Time now = tools_.clock.steady();
    if (!reservation.is_nominated && now >= reservation.due) {
        reservation.may_be_nominated = true;
        clears_.erase(uid);
        const auto nominated = nominate(uid, request.name, reservation.node);
        reservation.is_nominated = nominated.has_value();
        if (!nominated) put_off(reservation, nominated.error());
    }
    reservation.free_since = is_free ? reservation.free_since.value_or(now) : std::optional<Time>();
    if (!is_free || now - *reservation.free_since < kUnclaimed) return std::nullopt;
    return Why::unclaimed;
}

void PreemptionReservations::put_off(NodeReservation& reservation, const Error& error) const {
    reservation.due = tools_.clock.steady() + UnschedulablePods::kRetry;
    log_event(Event::preemption_delayed, {{"reason", error.text}});
}

Result<> PreemptionReservations::nominate(const PodUid& uid, const PodName& pod,
                                          const NodeName& node) {
    TRY_VOID(tools_.fence.begin(Evictions::kTakes));
    return tools_.evictions.nominate(uid, pod, node);
}

Result<PreemptionReservations::EvictionOutcome> PreemptionReservations::evict(
    const Victim& victim, const PodName& preemptor) {
    const auto evicted = tools_.evictions.evict(victim.uid, victim.name);
    if (!evicted && evicted.error().code == Code::not_found) return EvictionOutcome::gone;
    if (!evicted) return fail(evicted.error());
    if (!*evicted) return EvictionOutcome::forbidden;
    tools_.metrics.count_preempted();
    log_event(Event::pod_preempted, {{"pod", victim.name.str()}, {"preemptor", preemptor.str()}});
    // The victim ends even without the mark; kube-scheduler may then remove the nomination, and the
    // reservation stays.
    const auto marked = tools_.evictions.mark_preempted(victim.uid, victim.name, preemptor);
    if (!marked && marked.error().code == Code::unavailable)
        log_event(Event::api_error, {{"reason", marked.error().text}});
    return EvictionOutcome::evicted;
}

void PreemptionReservations::give_up(const PodUid& uid, const NodeReservation& reservation,
                                     Why why) {
    const WhyRow& row = row_of(why);
    refused_.watch_no_more(uid);
    tools_.cache.call([&](ClusterState& state) {
        const PendingPod* pending = state.pending(uid);
        if (pending != nullptr && pending->reserved_node == reservation.node) state.give_up(uid);
        return true;
    });
    tools_.metrics.count_given_up();
    log_event(
        Event::reservation_given_up,
        {{"pod", reservation.pod.str()}, {"node", reservation.node.str()}, {"reason", row.text}});
    if (reservation.may_be_nominated) {
        Clear& clear = clears_.insert_or_assign(uid, Clear{reservation.node}).first->second;
        if (is_cleared(uid, clear)) clears_.erase(uid);
    }
    if (reservation.may_have_evicted || row.rests) let_rest(uid);
    if (!row.is_restarted) return;
    const Time now = tools_.clock.steady();
    UnschedulablePods::Entry again = reservation.refused;
    again.last = now;
    refused_.put_back(uid, std::move(again), now);
}

void PreemptionReservations::let_rest(const PodUid& uid) {
    Rest& rest = rests_[uid];
    rest.span = rest.span == Time{} ? Time(kRest) : rest.span * 2;
    rest.until = tools_.clock.steady() + rest.span;
}

// Removes the nomination: other replicas keep the GPUs reserved by it alone, and kube-scheduler
// does not remove it. True if nothing is left to do.
bool PreemptionReservations::is_cleared(const PodUid& uid, Clear& clear) {
    const auto waits = waiting(uid);
    if (!waits) return true;
    const NodeName& nominated = waits->pod.nominated;
    if (!nominated.empty() && nominated != clear.node) return true;
    if (tools_.clock.steady() < clear.due) return false;
    auto cleared = tools_.fence.begin(Evictions::kTakes);
    if (cleared) cleared = tools_.evictions.withdraw(uid, (*waits->pod.request)->name, clear.node);
    if (cleared || cleared.error().code != Code::unavailable) return true;
    log_event(Event::api_error, {{"reason", cleared.error().text}});
    clear.due = tools_.clock.steady() + UnschedulablePods::kRetry;
    return false;
}

}  // namespace tessera
