#include "app/scheduler/own_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

constexpr std::chrono::milliseconds kPeriod{500};

}  // namespace

OwnPreemption::OwnPreemption(Evictions& evictions, Keeper& keeper, SchedulerMetrics& metrics,
                             Clock& clock, const Policy& policy,
                             std::function<bool(std::chrono::nanoseconds)> begin_write)
    : evictions_(evictions),
      keeper_(keeper),
      metrics_(metrics),
      clock_(clock),
      policy_(policy),
      begin_write_(std::move(begin_write)) {}

bool OwnPreemption::may_help(const ExtenderArgs& args, const FilterAnswer& refused) const {
    return args.pod.preempts && refused.fitting.empty() && !refused.failed.empty() &&
           keeper_.view()->anyone_below(args.pod.priority);
}

void OwnPreemption::note(const ExtenderArgs& args, const FilterAnswer& refused) {
    Refused entry{args.pod.priority, {}, clock_.steady() + kPatience};
    for (const Refusal& refusal : refused.failed)
        entry.nodes.emplace_back(std::string(args.names[refusal.node]));
    const std::scoped_lock lock(mutex_);
    if (const auto before = refused_.find(args.pod.uid); before != refused_.end()) {
        entry.due = std::min(entry.due, before->second.due);
        before->second = std::move(entry);
        return;
    }
    refused_.emplace(args.pod.uid, std::move(entry));
    if (refused_.size() <= kMost) return;
    refused_.erase(
        std::ranges::min_element(refused_, {}, [](const auto& of) { return of.second.priority; }));
}

void OwnPreemption::forget(const PodUid& pod) {
    const std::scoped_lock lock(mutex_);
    refused_.erase(pod);
}

// One that was noted since counts.
void OwnPreemption::retry(const PodUid& pod, Refused refused) {
    refused.due = clock_.steady() + kRetry;
    const std::scoped_lock lock(mutex_);
    refused_.emplace(pod, std::move(refused));
}

// The most important first: what it takes is not there for the others.
OwnPreemption::Due OwnPreemption::take_due() {
    const Time now = clock_.steady();
    Due due;
    const std::scoped_lock lock(mutex_);
    for (auto at = refused_.begin(); at != refused_.end();) {
        if (at->second.due > now) {
            ++at;
            continue;
        }
        due.emplace_back(at->first, std::move(at->second));
        at = refused_.erase(at);
    }
    std::ranges::stable_sort(due, std::ranges::greater(),
                             [](const auto& of) { return of.second.priority; });
    return due;
}

void OwnPreemption::run_round(const std::stop_token& stop) {
    std::erase_if(guarded_until_,
                  [now = clock_.steady()](const auto& of) { return of.second <= now; });
    for (auto& [uid, refused] : take_due()) {
        if (stop.stop_requested()) return;
        const auto outcome = look_after(uid, refused, stop);
        if (!outcome) log_event(Event::preemption_held, {{"reason", outcome.error().text}});
        if (!outcome || *outcome == Outcome::try_again) retry(uid, std::move(refused));
    }
}

void OwnPreemption::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        run_round(stop);
        clock_.sleep_for(kPeriod, stop);
    }
}

std::optional<PendingPod> OwnPreemption::waiting(const PodUid& uid) const {
    return keeper_.ask([&](ClusterState& state) -> std::optional<PendingPod> {
        const PendingPod* pending = state.pending(uid);
        if (pending == nullptr || !pending->ask) return std::nullopt;
        return *pending;
    });
}

// Whether room is being made for it already. It may have come to nothing: a higher one took it, or
// the pod may not run there any more.
bool OwnPreemption::is_on_its_way(const ClusterView& view, const PendingPod& pod,
                                  const Refused& refused) const {
    const NodeName& name = pod.kept_on();
    const NodeView* node = name.empty() ? nullptr : view.find(name.str());
    if (node == nullptr) return false;
    // kube-scheduler may have nominated it for what its own filters lacked, and then we were not
    // asked about that node.
    const bool may_run_there =
        pod.promised.empty() || std::ranges::find(refused.nodes, name) != refused.nodes.end();
    if (!may_run_there) return false;
    const Kind kind = plan_preemption(*node, **pod.ask, policy_, {}, guarded()).kind;
    return kind == Kind::fits || kind == Kind::soon;
}

// The error names the pod.
Result<OwnPreemption::Outcome> OwnPreemption::look_after(const PodUid& uid, const Refused& refused,
                                                         const std::stop_token& stop) {
    const auto pod = waiting(uid);
    if (!pod) return Outcome::settled;
    const PodAsk& ask = **pod->ask;
    const auto view = keeper_.view();
    if (is_on_its_way(*view, *pod, refused)) return Outcome::settled;
    if (!pod->promised.empty()) withdraw(ask);
    const auto outcome = preempt(*pod, choices(*view, ask, refused.nodes), stop);
    return outcome ? outcome : fail(outcome.error().in("pod " + ask.name.str()));
}

std::vector<PodUid> OwnPreemption::guarded() const {
    std::vector<PodUid> out;
    out.reserve(guarded_until_.size());
    for (const auto& [uid, until] : guarded_until_)
        out.push_back(uid);
    return out;
}

// On each node the pods whose end costs least. Where the pod will get room anyhow, that node alone,
// with nobody to end.
std::vector<OwnPreemption::Choice> OwnPreemption::choices(
    const ClusterView& view, const PodAsk& pod, const std::vector<NodeName>& nodes) const {
    const std::vector<PodUid> stay = guarded();
    std::vector<Choice> out;
    for (const NodeName& name : nodes) {
        const NodeView* node = view.find(name.str());
        if (node == nullptr) continue;
        Preemption found = plan_preemption(*node, pod, policy_, {}, stay);
        if (found.kind == Kind::fits || found.kind == Kind::soon) return {{node, std::move(found)}};
        if (found.kind == Kind::evict) out.push_back({node, std::move(found)});
    }
    return out;
}

// Takes the cheapest; where one of its pods may not be evicted, the next.
Result<OwnPreemption::Outcome> OwnPreemption::preempt(const PendingPod& pod,
                                                      std::vector<Choice> choices,
                                                      const std::stop_token& stop) {
    std::string stayed;
    for (int i = 0; i < kMostGuarded && !choices.empty(); ++i) {
        const auto best = std::ranges::min_element(
            choices, [](const Choice& a, const Choice& b) { return costs_less(a.plan, b.plan); });
        TRY(const Tenant* stays, first_guarded(best->plan));
        if (stays == nullptr) {
            TRY_VOID(carry_out(pod, *best, stop));
            return Outcome::settled;
        }
        stayed = stays->name.str();
        guarded_until_[stays->uid] = clock_.steady() + kGuarded;
        best->plan = plan_preemption(*best->node, **pod.ask, policy_, {}, guarded());
        if (best->plan.kind != Kind::evict) choices.erase(best);
    }
    // It has been said of those that are known to stay.
    if (stayed.empty()) return guarded_until_.empty() ? Outcome::settled : Outcome::try_again;
    return fail(Code::unavailable,
                fmt::format("pod {} may not be evicted now (PodDisruptionBudget, or an admission "
                            "webhook)",
                            stayed));
}

// Null where all may be evicted.
Result<const Tenant*> OwnPreemption::first_guarded(const Preemption& plan) {
    for (const Tenant* victim : plan.victims) {
        TRY(const bool may, evictions_.may_evict(victim->uid, victim->name));
        if (!may) return victim;
    }
    return nullptr;
}

Result<> OwnPreemption::check_fence() const {
    if (!begin_write_ || begin_write_(Evictions::kTakes)) return {};
    return fail(Code::unavailable, "this tessera-controller is not the leader");
}

// Unless it waits no more, or kube-scheduler has nominated it since.
bool OwnPreemption::promise(const PendingPod& pod, const Choice& choice) {
    std::vector<PodUid> victims;
    victims.reserve(choice.plan.victims.size());
    for (const Tenant* victim : choice.plan.victims)
        victims.push_back(victim->uid);
    const PodUid& uid = (*pod.ask)->uid;
    return keeper_.ask([&](ClusterState& state) {
        const PendingPod* now = state.pending(uid);
        if (now == nullptr || now->nominated != pod.nominated) return false;
        return state.promise(uid, choice.node->inventory.name, victims);
    });
}

void OwnPreemption::withdraw(const PodAsk& pod) {
    keeper_.post([uid = pod.uid](ClusterState& state) { state.withdraw_promise(uid); });
}

// Nobody ends for a pod that does not wait any more, or before the room that he leaves is its own.
Result<> OwnPreemption::carry_out(const PendingPod& pod, const Choice& choice,
                                  const std::stop_token& stop) {
    const PodAsk& ask = **pod.ask;
    if (choice.plan.kind == Kind::fits) return {};  // kube-scheduler finds it by itself
    TRY_VOID(check_fence());
    if (!promise(pod, choice) || choice.plan.victims.empty()) return {};
    bool has_ended = false;
    for (const Tenant* victim : choice.plan.victims) {
        const auto now = waiting(ask.uid);
        if (!now || now->promised != choice.node->inventory.name) return {};
        const auto evicted = evict(*victim, ask, stop);
        if (!evicted) {
            if (has_ended) guarded_until_[victim->uid] = clock_.steady() + kGuardedLong;
            withdraw(ask);
            return evicted;
        }
        has_ended = true;
    }
    TRY_VOID(check_fence());
    return evictions_.nominate(ask.uid, ask.name, choice.node->inventory.name);
}

Result<> OwnPreemption::evict(const Tenant& victim, const PodAsk& pod,
                              const std::stop_token& stop) {
    if (stop.stop_requested()) return fail(Code::unavailable, "this tessera-controller ends");
    TRY_VOID(check_fence());
    TRY(const bool is_done, evictions_.evict(victim.uid, victim.name));
    if (!is_done) {
        guarded_until_[victim.uid] = clock_.steady() + kGuarded;
        return fail(Code::unavailable,
                    fmt::format("pod {} may not be evicted any more", victim.name.str()));
    }
    metrics_.count_preempted();
    log_event(Event::pod_preempted, {{"pod", victim.name.str()}, {"preemptor", pod.name.str()}});
    // It ends all the same; kube-scheduler may take the nomination back, and the promise stands.
    const auto marked = evictions_.mark_preempted(victim.uid, victim.name, pod.name);
    if (!marked && marked.error().code == Code::unavailable)
        log_event(Event::api_trouble, {{"reason", marked.error().text}});
    return {};
}

}  // namespace tessera
