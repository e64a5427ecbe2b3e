#include "app/scheduler/scheduler.hpp"

#include <fmt/format.h>

#include <numeric>

#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/preemption.hpp"
#include "app/scheduler/refusals.hpp"
#include "base/log.hpp"
#include "wire/binding_annotations.hpp"

namespace tessera {
namespace {

// A Binding whose answer was lost may still be under way in the API server for its request timeout.
constexpr std::chrono::seconds kDoubt{60};
// The watch is normally milliseconds behind; reading earlier would only repeat it.
constexpr std::chrono::seconds kPatience{10};

bool bound_as(const PodFacts& pod, const Allocation& allocation) {
    return pod.node == allocation.node && pod.allocation && *pod.allocation == allocation;
}

std::string cards_of(const Allocation& allocation) {
    std::vector<std::string> uuids;
    for (const Hold& hold : holds(allocation.containers))
        uuids.push_back(hold.uuid.str());
    return fmt::format("{}", fmt::join(uuids, ","));
}

}  // namespace

Scheduler::Scheduler(KubeApi& kube, Keeper& keeper, Clock& clock, const SchedulerOptions& options)
    : kube_(kube),
      keeper_(keeper),
      clock_(clock),
      options_(options),
      second_look_(clock),
      gangs_(keeper, options.placements, clock) {}

FilterAnswer Scheduler::filter(const ExtenderArgs& args) {
    return settle_filter(args, first_look(args));
}

FilterAnswer Scheduler::settle_filter(const ExtenderArgs& args, FilterAnswer first) {
    const bool may_change = first.fitting.empty() && !first.failed.empty();
    FilterAnswer answer = may_change && second_look_.wait() ? first_look(args) : std::move(first);
    give_missing_reasons(args, answer);
    if (!answer.fitting.empty()) {
        waiting_.forget(args.pod.uid);
    } else if (answer.obstacle) {
        waiting_.note(args.pod.uid, *answer.obstacle, clock_.steady());
    }
    return answer;
}

FilterAnswer Scheduler::first_look(const ExtenderArgs& args) {
    FilterAnswer answer;
    const auto pod = ask_of(args.pod);
    if (!pod) {
        for (std::size_t i = 0; i < args.names.size(); ++i)
            answer.unresolvable.push_back({i, pod.error().text});
        answer.obstacle = Obstacle::bad_request;
        return answer;
    }
    if (pod->request.empty()) {
        answer.fitting.resize(args.names.size());
        std::iota(answer.fitting.begin(), answer.fitting.end(), 0);
        return answer;
    }
    if (pod->gang) return gangs_.filter(args, *pod);
    return choose_nodes(*keeper_.view(), args, *pod, rater_of(*pod).get(), options_.best_nodes);
}

std::vector<int> Scheduler::prioritize(const ExtenderArgs& args) const {
    const auto pod = ask_of(args.pod);
    if (!pod || pod->request.empty()) return std::vector<int>(args.names.size(), 0);
    return score_nodes(*keeper_.view(), args, *pod, rater_of(*pod).get());
}

std::vector<NodeVictims> Scheduler::preempt(const PreemptionArgs& args) const {
    const auto pod = ask_of(args.pod);
    // Whoever asks for no GPU is not ours to judge; what makes no sense fits nowhere.
    // Nobody ends for one pod of a gang: it would still wait for the others.
    if (!pod || pod->gang) return {};
    if (pod->request.empty()) return with_victims(args.nodes);
    return choose_victims(*keeper_.view(), args, *pod);
}

Result<PodAsk> Scheduler::read_ask(const BindArgs& args) {
    TRY(const PodFacts pod, kube_.get_pod(args.pod));
    if (pod.uid != args.uid) {
        return fail(Code::not_found, fmt::format("pod {} with uid {} is gone; another has its name",
                                                 args.pod.str(), args.uid.str()));
    }
    return ask_of(pod);
}

// The state's owner is asked once where it knows the pod: each question wakes a thread, and makes
// a view.
Result<Reservation> Scheduler::reserve(const BindArgs& args) {
    using Answer = std::optional<Result<Reservation>>;
    const Answer known = keeper_.ask([&](ClusterState& state) -> Answer {
        const PendingPod* pending = state.pending(args.uid);
        if (pending == nullptr) return std::nullopt;
        if (!pending->ask) return fail(pending->ask.error());
        const PodAskPtr pod = *pending->ask;  // it is pending no more once it holds something
        return state.reserve(*pod, args.node, rater_of(*pod).get());
    });
    if (known) return *known;
    // The watch may be behind the scheduler's own.
    TRY(const PodAsk pod, read_ask(args));
    return keeper_.ask(
        [&](ClusterState& state) { return state.reserve(pod, args.node, rater_of(pod).get()); });
}

std::shared_ptr<const NodeRater> Scheduler::rater_of(const PodAsk& pod) const {
    return options_.placements == nullptr ? nullptr : options_.placements->rater_of(pod);
}

Result<> Scheduler::check_fence() const {
    if (!options_.begin_write || options_.begin_write(KubeApi::kBindTakes)) return {};
    return fail(Code::unavailable,
                "this tessera-controller is not the leader, or about to lose its Lease; the pod is "
                "tried again");
}

Result<> Scheduler::bind(const BindArgs& args) {
    TRY_VOID(check_fence());
    const auto reservation = reserve(args);
    if (!reservation) {
        log_event(Event::bind_refused,
                  {{"pod", args.pod.str()}, {"reason", reservation.error().text}});
        return fail(reservation.error());
    }
    switch (reservation->kind) {
        case Reservation::Kind::done:
            return {};
        case Reservation::Kind::nothing:
            return kube_.bind(args.uid, args.pod, args.node, {});
        case Reservation::Kind::write:
            break;
    }
    return write_binding(args, *reservation);
}

Result<> Scheduler::write_binding(const BindArgs& args, const Reservation& reservation) {
    const auto annotations = binding_annotations(reservation.allocation, reservation.node,
                                                 clock_.unix_ns(), options_.seal);
    // Nothing that may take long lies between this and the write.
    auto allowed = check_fence();
    if (!allowed) {
        keeper_.post(
            [attempt = reservation.attempt](ClusterState& state) { state.refuse(attempt); });
        return allowed;
    }
    const auto written = kube_.bind(args.uid, args.pod, args.node, annotations);
    if (!written) return settle(args, reservation, written.error());
    keeper_.post([attempt = reservation.attempt](ClusterState& state) { state.confirm(attempt); });
    log_event(Event::pod_bound, {{"pod", args.pod.str()},
                                 {"node", args.node.str()},
                                 {"gpus", cards_of(reservation.allocation)}});
    return {};
}

// After a refusal or a lost answer: what does the API server say that the pod is?
Result<> Scheduler::settle(const BindArgs& args, const Reservation& reservation,
                           const Error& cause) {
    const auto say = [&](Event event, void (ClusterState::*change)(const Attempt&)) {
        keeper_.post([change, attempt = reservation.attempt](ClusterState& state) {
            (state.*change)(attempt);
        });
        log_event(event, {{"pod", args.pod.str()}, {"reason", cause.text}});
        return fail(cause);
    };
    if (cause.code != Code::unavailable && cause.code != Code::conflict) {
        return say(Event::bind_refused, &ClusterState::refuse);
    }
    const auto pod = kube_.get_pod(args.pod);
    if (pod && pod->uid == args.uid && bound_as(*pod, reservation.allocation)) {
        keeper_.post(
            [attempt = reservation.attempt](ClusterState& state) { state.confirm(attempt); });
        log_event(Event::bind_settled, {{"pod", args.pod.str()}, {"node", args.node.str()}});
        return {};
    }
    const bool gone = pod ? pod->uid != args.uid : pod.error().code == Code::not_found;
    if (gone || (pod && !pod->node.empty())) {
        return say(Event::bind_refused, &ClusterState::release);
    }
    // Unbound: a conflict says no to this attempt. After a lost answer, or when the pod can't be
    // read, the write may still happen: the cards stay reserved until it is sure.
    if (pod && cause.code == Code::conflict) {
        return say(Event::bind_refused, &ClusterState::refuse);
    }
    return say(Event::bind_in_doubt, &ClusterState::confirm);
}

void Scheduler::settle_unconfirmed() {
    gangs_.settle();
    const auto tenants = keeper_.ask([](ClusterState& state) { return state.unconfirmed(); });
    const std::chrono::nanoseconds now = clock_.steady();
    std::map<std::pair<PodUid, int>, std::chrono::nanoseconds> since;
    for (const TenantPtr& tenant : tenants) {
        const Attempt attempt{tenant->uid, tenant->attempt};
        const auto before = unconfirmed_since_.find({attempt.pod, attempt.number});
        const auto first = before == unconfirmed_since_.end() ? now : before->second;
        since.emplace(std::pair(attempt.pod, attempt.number), first);
        if (now - first < kPatience) continue;
        const auto pod = kube_.get_pod(tenant->name);
        if (!pod && pod.error().code != Code::not_found) continue;
        const bool there = pod && pod->uid == tenant->uid;
        // The watch is behind and will show it; what was read now may be older by then.
        if (there && bound_as(*pod, tenant->allocation)) continue;
        if (there && pod->node.empty() && now - first < kDoubt) continue;
        keeper_.post([attempt](ClusterState& state) { state.release(attempt); });
        log_event(Event::bind_settled, {{"pod", tenant->name.str()}});
    }
    unconfirmed_since_ = std::move(since);
}

}  // namespace tessera
