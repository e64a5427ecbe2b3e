#include "app/scheduler/own_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/log.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

constexpr std::chrono::milliseconds kPeriod{500};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

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

std::optional<FilterAnswer> OwnPreemption::filter(Scheduler& scheduler, const ExtenderArgs& args,
                                                  const std::function<bool()>& is_sent_on) {
    FilterAnswer first = scheduler.first_look(args);
    if (may_help(args, first) && is_sent_on()) return std::nullopt;
    FilterAnswer answer = scheduler.settle_filter(args, std::move(first));
    if (!answer.fitting.empty()) forget(args.pod.uid);
    if (may_help(args, answer)) note(args, answer);
    return answer;
}

void OwnPreemption::note(const ExtenderArgs& args, const FilterAnswer& refused) {
    const Time now = clock_.steady();
    Refused entry{args.pod.priority, {}, now + kPatience, now};
    for (const Refusal& refusal : refused.failed)
        entry.nodes.emplace_back(std::string(args.names[refusal.node]));
    const std::scoped_lock lock(mutex_);
    if (const auto before = refused_.find(args.pod.uid); before != refused_.end()) {
        entry.due = std::min(entry.due, before->second.due);
        entry.history = std::move(before->second.history);
        before->second = std::move(entry);
        return;
    }
    refused_.emplace(args.pod.uid, std::move(entry));
    if (refused_.size() > kMost) leave_one_out();
}

// Of the least important ones that had most turns one by chance: none is always left out.
void OwnPreemption::leave_one_out() {
    const auto rank = [](const auto& of) {
        return std::pair(of.second.priority, -of.second.history.turns);
    };
    const auto least = rank(*std::ranges::min_element(refused_, {}, rank));
    std::vector<PodUid> equals;
    for (const auto& of : refused_) {
        if (rank(of) == least) equals.push_back(of.first);
    }
    refused_.erase(
        equals[std::uniform_int_distribution<std::size_t>(0, equals.size() - 1)(chance_)]);
}

void OwnPreemption::forget(const PodUid& pod) {
    const std::scoped_lock lock(mutex_);
    refused_.erase(pod);
}

// What was noted since is newer.
void OwnPreemption::retry(const PodUid& pod, Refused refused) {
    refused.due = clock_.steady() + kRetry;
    ++refused.history.turns;
    const std::scoped_lock lock(mutex_);
    const auto noted = refused_.find(pod);
    if (noted == refused_.end()) {
        refused_.emplace(pod, std::move(refused));
        if (refused_.size() > kMost) leave_one_out();
        return;
    }
    noted->second.history = std::move(refused.history);
}

// The most important first: what it takes is not there for the others.
OwnPreemption::Due OwnPreemption::take_due() {
    const Time now = clock_.steady();
    Due due;
    const std::scoped_lock lock(mutex_);
    std::erase_if(refused_, [&](const auto& of) { return now - of.second.last >= kForgotten; });
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
    take_back_unclaimed();
    go_on(stop);
    if (!leads()) return;
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

// Nothing where it is gone, or has its cards for good.
std::optional<OwnPreemption::Waiting> OwnPreemption::waiting(const PodUid& uid) const {
    return keeper_.ask([&](ClusterState& state) -> std::optional<Waiting> {
        const PendingPod* pending = state.pending(uid);
        const bool is_being_bound = pending == nullptr;
        if (is_being_bound) pending = state.set_aside(uid);
        if (pending == nullptr || !pending->ask) return std::nullopt;
        return Waiting{*pending, is_being_bound};
    });
}

// What is kept for one must not lie there for ever.
void OwnPreemption::take_back_unclaimed() {
    for (auto at = promised_.begin(); at != promised_.end();)
        at = is_promise_over(at->first, at->second) ? promised_.erase(at) : std::next(at);
    std::erase_if(rests_, [this](const auto& of) { return !waiting(of.first); });
}

bool OwnPreemption::is_promise_over(const PodUid& uid, std::optional<Time>& free_since) {
    const auto waits = waiting(uid);
    if (!waits || waits->pod.promised.empty()) return true;
    if (waits->is_being_bound) return false;
    const Time now = clock_.steady();
    const PodAsk& ask = **waits->pod.ask;
    const NodeName& promised = waits->pod.promised;
    const auto view = keeper_.view();
    const NodeView* node = view->find(promised.str());
    const bool is_free =
        node != nullptr && plan_preemption(*node, ask, policy_, {}, {}).kind == Kind::fits;
    free_since = is_free ? free_since.value_or(now) : std::optional<Time>();
    if (!is_free || now - *free_since < kUnclaimed) return false;
    log_event(
        Event::preemption_held,
        {{"reason", fmt::format("pod {}: its room on node {} is free, and kube-scheduler does "
                                "not take it: others may",
                                ask.name.str(), promised.str())}});
    give_up(uid);
    Rest& rest = rests_[uid];
    rest.span = rest.span == Time{} ? Time(kRest) : rest.span * 2;
    rest.until = now + rest.span;
    return true;
}

// Whether room is being made for it already. It may have come to nothing: a higher one took it, or
// the pod may not run there any more.
OwnPreemption::Room OwnPreemption::room_for(const ClusterView& view, const PendingPod& pod,
                                            const Refused& refused) const {
    const NodeName name = pod.kept_on();
    const NodeView* node = name.empty() ? nullptr : view.find(name.str());
    if (node == nullptr) return Room::none;
    const Kind kind = plan_preemption(*node, **pod.ask, policy_, {}, {}).kind;
    if (kind != Kind::fits && kind != Kind::soon) return Room::none;
    if (std::ranges::find(refused.nodes, name) != refused.nodes.end()) return Room::coming;
    // kube-scheduler may have nominated it for what its own filters lacked, and then it does not
    // ask us about that node. Nor does it where the pod may not run there any more.
    const bool is_believed =
        pod.promised.empty() && clock_.steady() - refused.history.nominated_since < kBelieved;
    return is_believed ? Room::believed : Room::none;
}

// The error names the pod.
Result<OwnPreemption::Outcome> OwnPreemption::look_after(const PodUid& uid, Refused& refused,
                                                         const std::stop_token& stop) {
    const auto waits = waiting(uid);
    if (!waits || waits->is_being_bound) return Outcome::settled;
    const PendingPod& pod = waits->pod;
    const PodAsk& ask = **pod.ask;
    if (refused.history.nominated != pod.nominated) {
        refused.history.nominated = pod.nominated;
        refused.history.nominated_since = clock_.steady();
    }
    const auto view = keeper_.view();
    const Room room = room_for(*view, pod, refused);
    if (room != Room::none) return room == Room::coming ? Outcome::settled : Outcome::try_again;
    // What was begun is of no use any more: the rest must not end, too.
    if (making_.erase(uid) > 0) several_after_ = clock_.steady() + kSeveral;
    if (!pod.kept_on().empty()) give_up(uid);
    const std::size_t most = most_victims(uid);
    auto found = choices(*view, ask, refused.nodes, guarded());
    std::erase_if(found, [&](const Choice& choice) { return choice.plan.victims.size() > most; });
    if (found.empty()) {
        // Those that may not end now may end later.
        const bool is_held_up = (most != kNoLimit || !guarded_until_.empty()) &&
                                !choices(*view, ask, refused.nodes, {}).empty();
        return is_held_up ? Outcome::try_again : Outcome::settled;
    }
    const auto outcome = preempt(pod, std::move(found), most, stop);
    return outcome ? outcome : fail(outcome.error().in("pod " + ask.name.str()));
}

// Who may end for a pod at once, after what came of it before.
std::size_t OwnPreemption::most_victims(const PodUid& pod) const {
    const Time now = clock_.steady();
    if (const auto rest = rests_.find(pod); rest != rests_.end() && now < rest->second.until)
        return 0;
    return now < several_after_ ? 1 : kNoLimit;
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
std::vector<OwnPreemption::Choice> OwnPreemption::choices(const ClusterView& view,
                                                          const PodAsk& pod,
                                                          const std::vector<NodeName>& nodes,
                                                          const std::vector<PodUid>& stay) const {
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
                                                      std::vector<Choice> choices, std::size_t most,
                                                      const std::stop_token& stop) {
    std::string stayed;
    const Time now = clock_.steady();
    for (int i = 0; i < kMostGuarded && !choices.empty(); ++i) {
        const auto best = std::ranges::min_element(
            choices, [](const Choice& a, const Choice& b) { return costs_less(a.plan, b.plan); });
        TRY(const Tenant* stays, first_guarded(best->plan));
        if (stays == nullptr) {
            TRY_VOID(carry_out(pod, *best, stop));
            return Outcome::settled;  // or go_on() sees to it
        }
        stayed = stays->name.str();
        guarded_until_[stays->uid] = now + kGuarded;
        best->plan = plan_preemption(*best->node, **pod.ask, policy_, {}, guarded());
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
        const auto may = evictions_.may_evict(victim->uid, victim->name);
        if (!may && may.error().code == Code::not_found) continue;
        if (!may) return fail(may.error());
        if (!*may) return victim;
    }
    return nullptr;
}

// Announces no write: the Lease can be given back at once.
bool OwnPreemption::leads() const {
    return !begin_write_ || begin_write_({});
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

void OwnPreemption::give_up(const PodUid& pod) {
    keeper_.post([pod](ClusterState& state) { state.give_up(pod); });
}

Result<> OwnPreemption::carry_out(const PendingPod& pod, const Choice& choice,
                                  const std::stop_token& stop) {
    TRY_VOID(check_fence());
    if (!promise(pod, choice)) return {};
    const PodUid& uid = (*pod.ask)->uid;
    promised_[uid] = {};
    Making making{choice.node->inventory.name, {}, clock_.steady()};
    for (const Tenant* victim : choice.plan.victims)
        making.left.emplace_back(victim->uid, victim->name);
    auto made = make_room(uid, making, stop);
    if (made) return {};
    // What has ended was told to end for this pod: the others may be allowed to a little later.
    if (making.has_ended) {
        making.due = clock_.steady() + kRetry;
        making_.insert_or_assign(uid, std::move(making));
    } else {
        give_up(uid);
    }
    return made;
}

// Nobody ends for a pod that does not wait any more, or before the room that he leaves is its own.
// The nomination is written though nobody ends: other replicas keep the room by it, and it wakes
// kube-scheduler.
Result<> OwnPreemption::make_room(const PodUid& uid, Making& making, const std::stop_token& stop) {
    const auto whose = [&]() -> Result<std::optional<PodName>> {
        const auto now = waiting(uid);
        if (!now || now->pod.promised != making.node) return std::optional<PodName>();
        const PodName& name = (*now->pod.ask)->name;
        if (!now->is_being_bound) return std::optional(name);
        return fail(Code::unavailable, fmt::format("pod {} is being bound", name.str()));
    };
    while (!making.left.empty()) {
        TRY(const auto pod, whose());
        if (!pod) return {};
        const auto& [victim, name] = making.left.front();
        TRY_VOID(evict(victim, name, *pod, stop));
        making.left.pop_front();
        making.has_ended = true;
    }
    TRY_VOID(check_fence());
    TRY(const auto pod, whose());
    return pod ? evictions_.nominate(uid, *pod, making.node) : Result<>();
}

// A budget that allows one eviction at a time allows the next one when another pod stands in for
// the first. Where it does not, what has ended has ended in vain.
void OwnPreemption::go_on(const std::stop_token& stop) {
    for (auto at = making_.begin(); at != making_.end();) {
        auto& [uid, making] = *at;
        const Time now = clock_.steady();
        if (making.due > now) {
            ++at;
            continue;
        }
        making.due = now + kRetry;
        const auto made = make_room(uid, making, stop);
        const bool is_over = made || now - making.since >= kMaking;
        if (!made) log_event(Event::preemption_held, {{"reason", made.error().text}});
        if (is_over && !made) {
            give_up(uid);
            several_after_ = now + kSeveral;
        }
        at = is_over ? making_.erase(at) : std::next(at);
    }
}

// An error where it goes on.
Result<> OwnPreemption::evict(const PodUid& victim, const PodName& name, const PodName& preemptor,
                              const std::stop_token& stop) {
    if (stop.stop_requested()) return fail(Code::unavailable, "this tessera-controller ends");
    TRY_VOID(check_fence());
    const auto evicted = evictions_.evict(victim, name);
    if (!evicted && evicted.error().code == Code::not_found) return {};  // by itself
    if (!evicted) return fail(evicted.error());
    if (!*evicted) {
        guarded_until_[victim] = clock_.steady() + kGuarded;
        return fail(Code::unavailable,
                    fmt::format("pod {}: pod {} may not be evicted any more, or not yet",
                                preemptor.str(), name.str()));
    }
    metrics_.count_preempted();
    log_event(Event::pod_preempted, {{"pod", name.str()}, {"preemptor", preemptor.str()}});
    // It ends all the same; kube-scheduler may take the nomination back, and the promise stands.
    const auto marked = evictions_.mark_preempted(victim, name, preemptor);
    if (!marked && marked.error().code == Code::unavailable)
        log_event(Event::api_trouble, {{"reason", marked.error().text}});
    return {};
}

}  // namespace tessera
