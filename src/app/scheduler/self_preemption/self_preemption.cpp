#include "app/scheduler/self_preemption/self_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

}  // namespace

SelfPreemption::SelfPreemption(ReservationTools tools)
    : tools_(std::move(tools)), reservations_(tools_, refused_) {}

bool SelfPreemption::may_help(const ExtenderArgs& args, const FilterAnswer& refused) const {
    return args.pod.preempts && !args.pod.gang && refused.fitting.empty() &&
           !refused.failed.empty() && tools_.cache.snapshot()->anyone_below(args.pod.priority);
}

std::optional<FilterAnswer> SelfPreemption::filter(Scheduler& scheduler, const ExtenderArgs& args,
                                                   const std::function<bool()>& is_sent_on) {
    FilterAnswer first = scheduler.first_look(args);
    if (may_help(args, first) && is_sent_on()) return std::nullopt;
    FilterAnswer answer = scheduler.finish_filter(args, std::move(first));
    note(args, answer);
    return answer;
}

void SelfPreemption::note(const ExtenderArgs& args, const FilterAnswer& answer) {
    const Time now = tools_.clock.steady();
    if (!answer.fitting.empty()) refused_.offered(args.pod.uid, now);
    if (!may_help(args, answer)) return;
    std::vector<NodeName> nodes;
    nodes.reserve(answer.failed.size());
    for (const Refusal& refusal : answer.failed)
        nodes.emplace_back(std::string(args.names[refusal.node]));
    refused_.refused(args.pod.uid, args.pod.priority, std::move(nodes), now);
}

void SelfPreemption::run_round(const Stop& stop) {
    std::erase_if(guarded_until_,
                  [now = tools_.clock.steady()](const auto& of) { return of.second <= now; });
    reservations_.tend(stop);  // reservations stay although this replica leads no more
    if (!tools_.fence.leads()) return;
    for (auto& [uid, refused] : refused_.take_due(tools_.clock.steady())) {
        if (stop.stop_requested()) return;
        const auto turn = look_after(uid, refused, stop);
        if (!turn) log_event(Event::preemption_delayed, {{"reason", turn.error().text}});
        if (!turn || *turn == Turn::again)
            refused_.put_back(uid, std::move(refused), tools_.clock.steady());
    }
}

// The error names the pod.
Result<SelfPreemption::Turn> SelfPreemption::look_after(const PodUid& uid, Refused& refused,
                                                        const Stop& stop) {
    const auto waits = reservations_.waiting(uid);
    if (!waits || waits->is_being_bound) return Turn::over;
    const PendingPod& pod = waits->pod;
    if (refused.nominated != pod.nominated) {
        refused.nominated = pod.nominated;
        refused.nominated_since = tools_.clock.steady();
    }
    // Taken after waiting() has answered, so that it shows the reservation of the pod before.
    auto snapshot = tools_.cache.snapshot();
    if (pod.is_nominated_ahead()) return Turn::again;  // the nominator ends it
    if (reservations_.has(uid)) {
        if (!reservations_.is_slow(uid)) return Turn::over;
    } else if (!pod.reserved_on().empty()) {
        const Nomination nomination = judge(*snapshot, pod, refused);
        if (nomination == Nomination::holds) return Turn::over;
        if (nomination == Nomination::believed) return Turn::again;
        snapshot = tools_.cache.call([&](ClusterState& state) {
            const PendingPod* now = state.pending(uid);
            if (now != nullptr && now->reserved_on() == pod.reserved_on()) state.give_up(uid);
            return state.snapshot();
        });
    }
    const auto turn = choose(*snapshot, pod, refused, stop);
    return turn ? turn : fail(turn.error().in("pod " + (*pod.request)->name.str()));
}

// The nomination may be empty: a pod of higher priority took the GPUs, or the pod may not run there
// any more.
SelfPreemption::Nomination SelfPreemption::judge(const Snapshot& snapshot, const PendingPod& pod,
                                                 const Refused& refused) const {
    const NodeInfo* node = snapshot.find(pod.nominated.str());
    if (node == nullptr) return Nomination::empty;
    const Kind kind = plan_preemption(*node, snapshot.joined(**pod.request)).kind;
    if (kind != Kind::fits && kind != Kind::soon) return Nomination::empty;
    if (std::ranges::find(refused.nodes, pod.nominated) != refused.nodes.end())
        return Nomination::holds;
    // kube-scheduler may have nominated the pod because of its own filters, and then it does not
    // ask us about that node. Nor does it ask if the pod may not run there any more.
    const bool is_believed = tools_.clock.steady() - refused.nominated_since < kBelieved;
    return is_believed ? Nomination::believed : Nomination::empty;
}

Result<SelfPreemption::Turn> SelfPreemption::choose(const Snapshot& snapshot, const PendingPod& pod,
                                                    const Refused& refused, const Stop& stop) {
    const PodRequest& request = **pod.request;
    const std::size_t most = reservations_.most_victims(request.uid);
    auto found = choices(snapshot, request, refused.nodes, guarded());
    const bool is_any = !found.empty();
    std::erase_if(found, [&](const Choice& choice) { return choice.plan.victims.size() > most; });
    if (!found.empty()) {
        TRY_VOID(take_cheapest(pod, refused, std::move(found), most, stop));
        return Turn::over;
    }
    // Pods that may not be evicted now may be later.
    const bool is_held_up = is_any || (!guarded_until_.empty() &&
                                       !choices(snapshot, request, refused.nodes, {}).empty());
    return is_held_up ? Turn::again : Turn::over;
}

std::vector<PodUid> SelfPreemption::guarded() const {
    std::vector<PodUid> out;
    out.reserve(guarded_until_.size());
    for (const auto& [uid, until] : guarded_until_)
        out.push_back(uid);
    return out;
}

// For each node the victims that cost least. If the pod will fit on a node anyway, only that node,
// without victims, unless that takes too long already.
std::vector<SelfPreemption::Choice> SelfPreemption::choices(const Snapshot& snapshot,
                                                            const PodRequest& waiting,
                                                            const std::vector<NodeName>& nodes,
                                                            const std::vector<PodUid>& stay) const {
    const PodRequest pod = snapshot.joined(waiting);
    const bool is_slow = reservations_.has(pod.uid);
    std::vector<Choice> out;
    for (const NodeName& name : nodes) {
        const NodeInfo* node = snapshot.find(name.str());
        if (node == nullptr) continue;
        Preemption found = plan_preemption(*node, pod, {}, stay);
        const bool is_soon = found.kind == Kind::soon;
        if (is_soon && (is_slow || reservations_.is_node_slow(name))) continue;
        if (is_soon || found.kind == Kind::fits) return {{node, std::move(found)}};
        if (found.kind == Kind::evict) out.push_back({node, std::move(found)});
    }
    return out;
}

// If a victim of the cheapest choice may not be evicted, tries the next choice.
Result<> SelfPreemption::take_cheapest(const PendingPod& pod, const Refused& refused,
                                       std::vector<Choice> choices, std::size_t most,
                                       const Stop& stop) {
    std::string stayed;
    const Time now = tools_.clock.steady();
    for (int i = 0; i < kMostGuarded && !choices.empty(); ++i) {
        const auto best = std::ranges::min_element(
            choices, [](const Choice& a, const Choice& b) { return costs_less(a.plan, b.plan); });
        TRY(const AssignedPod* stays, first_guarded(best->plan));
        if (stays == nullptr) return begin(pod, refused, *best, stop);
        stayed = stays->name.str();
        guarded_until_[stays->uid] = now + kGuarded;
        const PodRequest joined = tools_.cache.snapshot()->joined(**pod.request);
        best->plan = plan_preemption(*best->node, joined, {}, guarded());
        if (best->plan.kind != Kind::evict || best->plan.victims.size() > most) choices.erase(best);
    }
    // The next turn continues after all pods that were found guarded so far.
    for (auto& [uid, until] : guarded_until_) {
        if (!choices.empty()) until = std::max(until, now + kGuarded);
    }
    return fail(Code::unavailable,
                fmt::format("pod {} may not be evicted now (PodDisruptionBudget, or an admission "
                            "webhook)",
                            stayed));
}

// Null if all may be evicted, or are gone.
Result<const AssignedPod*> SelfPreemption::first_guarded(const Preemption& plan) {
    for (const AssignedPod* victim : plan.victims) {
        const auto may = tools_.evictions.may_evict(victim->uid, victim->name);
        if (!may && may.error().code == Code::not_found) continue;
        if (!may) return fail(may.error());
        if (!*may) return victim;
    }
    return nullptr;
}

// Replaces the pod's slow reservation, if it has one.
Result<> SelfPreemption::begin(const PendingPod& pod, const Refused& refused, const Choice& choice,
                               const Stop& stop) {
    const PodUid& uid = (*pod.request)->uid;
    const NodeName& node = choice.node->inventory.name;
    if (!reservations_.has(uid)) return reservations_.begin(pod, node, choice.plan, refused, stop);
    reservations_.give_up_slow(uid);
    const auto waits = reservations_.waiting(uid);
    if (!waits || waits->is_being_bound) return {};
    return reservations_.begin(waits->pod, node, choice.plan, refused, stop);
}

}  // namespace tessera
