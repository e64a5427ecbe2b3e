#include "app/scheduler/own_preemption.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Kind = Preemption::Kind;

constexpr milliseconds kPeriod{500};
// For the watch to show a nomination that was written.
constexpr milliseconds kShown{1'000};
constexpr milliseconds kLook{20};

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
        entry.due = before->second.due;
        before->second = std::move(entry);
        return;
    }
    refused_.emplace(args.pod.uid, std::move(entry));
    if (refused_.size() <= kMost) return;
    refused_.erase(
        std::ranges::min_element(refused_, {}, [](const auto& of) { return of.second.priority; }));
}

// The most important first: what it takes is not there for the others.
OwnPreemption::Due OwnPreemption::take_due() {
    const nanoseconds now = clock_.steady();
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

void OwnPreemption::run_round() {
    for (const auto& [uid, refused] : take_due()) {
        const PodAskPtr pod = keeper_.ask([&](ClusterState& state) -> PodAskPtr {
            const PendingPod* pending = state.pending(uid);
            const bool waits = pending != nullptr && pending->ask && pending->nominated.empty();
            return waits ? *pending->ask : nullptr;
        });
        if (pod) make_room(*pod, refused.nodes);
    }
}

void OwnPreemption::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        run_round();
        clock_.sleep_for(kPeriod, stop);
    }
}

void OwnPreemption::make_room(const PodAsk& pod, const std::vector<NodeName>& nodes) {
    const auto view = keeper_.view();
    const auto outcome = preempt(pod, choices(*view, pod, nodes));
    if (outcome) return;
    log_event(Event::preemption_held, {{"pod", pod.name.str()}, {"reason", outcome.error().text}});
}

// On each node the pods whose end costs least; none where the pod will get room anyhow, and nobody
// to end where others are ending already.
std::vector<OwnPreemption::Choice> OwnPreemption::choices(
    const ClusterView& view, const PodAsk& pod, const std::vector<NodeName>& nodes) const {
    std::vector<Choice> out;
    for (const NodeName& name : nodes) {
        const NodeView* node = view.find(name.str());
        if (node == nullptr) continue;
        Preemption plan = plan_preemption(*node, pod, policy_);
        if (plan.kind == Kind::fits) return {};
        if (plan.kind == Kind::soon) return {{node, std::move(plan)}};
        if (plan.kind == Kind::evict) out.push_back({node, std::move(plan)});
    }
    return out;
}

// Takes the cheapest; where the API server lets one of its pods not be evicted, the next.
Result<> OwnPreemption::preempt(const PodAsk& pod, std::vector<Choice> choices) {
    Result<> outcome;
    std::vector<PodUid> guarded;
    while (!choices.empty() && guarded.size() < kMostGuarded) {
        const auto best = std::ranges::min_element(
            choices, [](const Choice& a, const Choice& b) { return costs_less(a.plan, b.plan); });
        const Tenant* refused = nullptr;
        for (const Tenant* victim : best->plan.victims) {
            outcome = evictions_.may_evict(victim->uid, victim->name);
            if (outcome) continue;
            refused = victim;
            break;
        }
        if (refused == nullptr) return carry_out(pod, *best);
        if (outcome.error().code != Code::unavailable) return outcome;  // it is ending by itself
        guarded.push_back(refused->uid);
        best->plan = plan_preemption(*best->node, pod, policy_, {}, guarded);
        if (best->plan.kind != Kind::evict) choices.erase(best);
    }
    return outcome;
}

// Nobody ends before the room that he leaves is the pod's.
Result<> OwnPreemption::carry_out(const PodAsk& pod, const Choice& choice) {
    const NodeName& node = choice.node->inventory.name;
    const auto check_fence = [&]() -> Result<> {
        if (!begin_write_ || begin_write_(Evictions::kTakes)) return {};
        return fail(Code::unavailable, "this tessera-controller is not the leader");
    };
    TRY_VOID(check_fence());
    TRY_VOID(evictions_.nominate(pod.uid, pod.name, node));
    await_nomination(pod);
    for (const Tenant* victim : choice.plan.victims) {
        TRY_VOID(check_fence());
        TRY_VOID(evictions_.evict(victim->uid, victim->name, pod.name));
        metrics_.count_preempted();
        log_event(
            Event::pod_preempted,
            {{"pod", victim->name.str()}, {"node", node.str()}, {"preemptor", pod.name.str()}});
    }
    return {};
}

// Pods that are looked after next must see it: they would take the same room.
void OwnPreemption::await_nomination(const PodAsk& pod) {
    const nanoseconds until = clock_.steady() + kShown;
    const auto is_shown = [&](ClusterState& state) {
        const PendingPod* pending = state.pending(pod.uid);
        return pending == nullptr || !pending->nominated.empty();
    };
    while (!keeper_.ask(is_shown) && clock_.steady() < until)
        clock_.sleep_for(kLook);
}

}  // namespace tessera
