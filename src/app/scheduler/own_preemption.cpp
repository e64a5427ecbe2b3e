#include "app/scheduler/own_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

constexpr std::chrono::milliseconds kPeriod{500};

}  // namespace

OwnPreemption::OwnPreemption(RoomTools tools)
    : tools_(std::move(tools)), rooms_(tools_, refused_) {}

bool OwnPreemption::may_help(const ExtenderArgs& args, const FilterAnswer& refused) const {
    return args.pod.preempts && !args.pod.gang && refused.fitting.empty() &&
           !refused.failed.empty() && tools_.keeper.view()->anyone_below(args.pod.priority);
}

std::optional<FilterAnswer> OwnPreemption::filter(Scheduler& scheduler, const ExtenderArgs& args,
                                                  const std::function<bool()>& is_sent_on) {
    FilterAnswer first = scheduler.first_look(args);
    if (may_help(args, first) && is_sent_on()) return std::nullopt;
    FilterAnswer answer = scheduler.settle_filter(args, std::move(first));
    note(args, answer);
    return answer;
}

void OwnPreemption::note(const ExtenderArgs& args, const FilterAnswer& answer) {
    const Time now = tools_.clock.steady();
    if (!answer.fitting.empty()) refused_.offered(args.pod.uid, now);
    if (!may_help(args, answer)) return;
    std::vector<NodeName> nodes;
    nodes.reserve(answer.failed.size());
    for (const Refusal& refusal : answer.failed)
        nodes.emplace_back(std::string(args.names[refusal.node]));
    refused_.refused(args.pod.uid, args.pod.priority, std::move(nodes), now);
}

void OwnPreemption::run_round(const Stop& stop) {
    std::erase_if(guarded_until_,
                  [now = tools_.clock.steady()](const auto& of) { return of.second <= now; });
    rooms_.tend(stop);  // what was promised stands though this replica leads no more
    if (!leads()) return;
    for (auto& [uid, refused] : refused_.take_due(tools_.clock.steady())) {
        if (stop.stop_requested()) return;
        const auto turn = look_after(uid, refused, stop);
        if (!turn) log_event(Event::preemption_held, {{"reason", turn.error().text}});
        if (!turn || *turn == Turn::again)
            refused_.put_back(uid, std::move(refused), tools_.clock.steady());
    }
}

void OwnPreemption::run(const Stop& stop) {
    while (!stop.stop_requested()) {
        run_round(stop);
        tools_.clock.sleep_for(kPeriod, stop);
    }
}

// Announces no write: the Lease can be given back at once.
bool OwnPreemption::leads() const {
    return !tools_.begin_write || tools_.begin_write({});
}

// The error names the pod.
Result<OwnPreemption::Turn> OwnPreemption::look_after(const PodUid& uid, Refused& refused,
                                                      const Stop& stop) {
    const auto waits = rooms_.waiting(uid);
    if (!waits || waits->is_being_bound) return Turn::over;
    const PendingPod& pod = waits->pod;
    if (refused.nominated != pod.nominated) {
        refused.nominated = pod.nominated;
        refused.nominated_since = tools_.clock.steady();
    }
    // Not before waiting() has answered: it shows what was promised to the one before.
    auto view = tools_.keeper.view();
    if (rooms_.has(uid)) {
        if (!rooms_.is_room_slow(uid)) return Turn::over;
    } else if (!pod.kept_on().empty()) {
        const Nomination nomination = judge(*view, pod, refused);
        if (nomination == Nomination::holds) return Turn::over;
        if (nomination == Nomination::believed) return Turn::again;
        view = tools_.keeper.ask([&](ClusterState& state) {
            const PendingPod* now = state.pending(uid);
            if (now != nullptr && now->kept_on() == pod.kept_on()) state.give_up(uid);
            return state.view();
        });
    }
    const auto turn = choose(*view, pod, refused, stop);
    return turn ? turn : fail(turn.error().in("pod " + (*pod.ask)->name.str()));
}

// Its room may have come to nothing: a higher one took it, or the pod may not run there any more.
OwnPreemption::Nomination OwnPreemption::judge(const ClusterView& view, const PendingPod& pod,
                                               const Refused& refused) const {
    const NodeView* node = view.find(pod.nominated.str());
    if (node == nullptr) return Nomination::empty;
    const Kind kind = plan_preemption(*node, view.joined(**pod.ask)).kind;
    if (kind != Kind::fits && kind != Kind::soon) return Nomination::empty;
    if (std::ranges::find(refused.nodes, pod.nominated) != refused.nodes.end())
        return Nomination::holds;
    // kube-scheduler may have nominated it for what its own filters lacked, and then it does not
    // ask us about that node. Nor does it where the pod may not run there any more.
    const bool is_believed = tools_.clock.steady() - refused.nominated_since < kBelieved;
    return is_believed ? Nomination::believed : Nomination::empty;
}

Result<OwnPreemption::Turn> OwnPreemption::choose(const ClusterView& view, const PendingPod& pod,
                                                  const Refused& refused, const Stop& stop) {
    const PodAsk& ask = **pod.ask;
    const std::size_t most = rooms_.most_victims(ask.uid);
    auto found = choices(view, ask, refused.nodes, guarded());
    const bool is_any = !found.empty();
    std::erase_if(found, [&](const Choice& choice) { return choice.plan.victims.size() > most; });
    if (!found.empty()) {
        TRY_VOID(take_cheapest(pod, refused, std::move(found), most, stop));
        return Turn::over;
    }
    // Those that may not end now may end later.
    const bool is_held_up =
        is_any || (!guarded_until_.empty() && !choices(view, ask, refused.nodes, {}).empty());
    return is_held_up ? Turn::again : Turn::over;
}

std::vector<PodUid> OwnPreemption::guarded() const {
    std::vector<PodUid> out;
    out.reserve(guarded_until_.size());
    for (const auto& [uid, until] : guarded_until_)
        out.push_back(uid);
    return out;
}

// On each node the pods whose end costs least. Where the pod will get room anyhow, that node alone,
// with nobody to end; not where that takes too long already.
std::vector<OwnPreemption::Choice> OwnPreemption::choices(const ClusterView& view,
                                                          const PodAsk& waiting,
                                                          const std::vector<NodeName>& nodes,
                                                          const std::vector<PodUid>& stay) const {
    const PodAsk pod = view.joined(waiting);
    const bool is_room_slow = rooms_.has(pod.uid);
    std::vector<Choice> out;
    for (const NodeName& name : nodes) {
        const NodeView* node = view.find(name.str());
        if (node == nullptr) continue;
        Preemption found = plan_preemption(*node, pod, {}, stay);
        const bool is_soon = found.kind == Kind::soon;
        if (is_soon && (is_room_slow || rooms_.is_node_slow(name))) continue;
        if (is_soon || found.kind == Kind::fits) return {{node, std::move(found)}};
        if (found.kind == Kind::evict) out.push_back({node, std::move(found)});
    }
    return out;
}

// Where one of its pods may not be evicted, the next.
Result<> OwnPreemption::take_cheapest(const PendingPod& pod, const Refused& refused,
                                      std::vector<Choice> choices, std::size_t most,
                                      const Stop& stop) {
    std::string stayed;
    const Time now = tools_.clock.steady();
    for (int i = 0; i < kMostGuarded && !choices.empty(); ++i) {
        const auto best = std::ranges::min_element(
            choices, [](const Choice& a, const Choice& b) { return costs_less(a.plan, b.plan); });
        TRY(const Tenant* stays, first_guarded(best->plan));
        if (stays == nullptr) return begin(pod, refused, *best, stop);
        stayed = stays->name.str();
        guarded_until_[stays->uid] = now + kGuarded;
        const PodAsk joined = tools_.keeper.view()->joined(**pod.ask);
        best->plan = plan_preemption(*best->node, joined, {}, guarded());
        if (best->plan.kind != Kind::evict || best->plan.victims.size() > most) choices.erase(best);
    }
    // The next turn goes on behind all who were found so far.
    for (auto& [uid, until] : guarded_until_) {
        if (!choices.empty()) until = std::max(until, now + kGuarded);
    }
    return fail(Code::unavailable,
                fmt::format("pod {} may not be evicted now (PodDisruptionBudget, or an admission "
                            "webhook)",
                            stayed));
}

// Null where all may be evicted, or are gone.
Result<const Tenant*> OwnPreemption::first_guarded(const Preemption& plan) {
    for (const Tenant* victim : plan.victims) {
        const auto may = tools_.evictions.may_evict(victim->uid, victim->name);
        if (!may && may.error().code == Code::not_found) continue;
        if (!may) return fail(may.error());
        if (!*may) return victim;
    }
    return nullptr;
}

// In place of the room that it waits for in vain, where it has one.
Result<> OwnPreemption::begin(const PendingPod& pod, const Refused& refused, const Choice& choice,
                              const Stop& stop) {
    const PodUid& uid = (*pod.ask)->uid;
    const NodeName& node = choice.node->inventory.name;
    if (!rooms_.has(uid)) return rooms_.begin(pod, node, choice.plan, refused, stop);
    rooms_.give_up_slow(uid);
    const auto waits = rooms_.waiting(uid);
    if (!waits || waits->is_being_bound) return {};
    return rooms_.begin(waits->pod, node, choice.plan, refused, stop);
}

}  // namespace tessera
