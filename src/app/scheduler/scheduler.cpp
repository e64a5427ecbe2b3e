#include "app/scheduler/scheduler.hpp"

#include <fmt/format.h>

#include <numeric>

#include "app/scheduler/filter/diagnosis.hpp"
#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/preemption/preemption.hpp"
#include "base/log.hpp"
#include "wire/kube/binding_annotations.hpp"

namespace tessera {
namespace {

// A Binding whose answer was lost may still be under way in the API server for its request timeout.
constexpr std::chrono::seconds kUncertain{60};
// The watch is normally milliseconds behind; reading earlier would only repeat it.
constexpr std::chrono::seconds kPatience{10};

bool bound_as(const PodInfo& pod, const Allocation& allocation) {
    return pod.node == allocation.node && pod.allocation && *pod.allocation == allocation;
}

std::string gpus_of(const Allocation& allocation) {
    std::vector<std::string> uuids;
    for (const GpuAllocation& on_gpu : allocated_by_gpu(allocation.containers))
        uuids.push_back(on_gpu.uuid.str());
    return fmt::format("{}", fmt::join(uuids, ","));
}

}  // namespace

Scheduler::Scheduler(KubeApi& kube, ClusterCache& cache, Clock& clock,
                     const SchedulerOptions& options)
    : kube_(kube),
      cache_(cache),
      clock_(clock),
      options_(options),
      stale_snapshot_retry_(clock),
      gangs_(cache, options.policies, clock) {}

FilterAnswer Scheduler::filter(const ExtenderArgs& args) {
    return finish_filter(args, first_look(args));
}

FilterAnswer Scheduler::finish_filter(const ExtenderArgs& args, FilterAnswer first) {
    const bool may_change = first.fitting.empty() && !first.failed.empty();
    FilterAnswer answer =
        may_change && stale_snapshot_retry_.wait() ? first_look(args) : std::move(first);
    give_missing_reasons(args, answer);
    if (!answer.fitting.empty()) {
        waiting_.forget(args.pod.uid);
    } else if (answer.reason) {
        waiting_.note(args.pod.uid, *answer.reason, clock_.steady());
    }
    return answer;
}

FilterAnswer Scheduler::first_look(const ExtenderArgs& args) {
    FilterAnswer answer;
    const auto pod = request_of(args.pod);
    if (!pod) {
        for (std::size_t i = 0; i < args.names.size(); ++i)
            answer.unresolvable.push_back({i, pod.error().text});
        answer.reason = UnschedulableReason::bad_request;
        return answer;
    }
    if (pod->containers.empty()) {
        answer.fitting.resize(args.names.size());
        std::iota(answer.fitting.begin(), answer.fitting.end(), 0);
        return answer;
    }
    if (pod->gang) return gangs_.filter(args, *pod);
    return choose_nodes(*cache_.snapshot(), args, *pod, scorer_of(*pod).get(), options_.best_nodes);
}

std::vector<int> Scheduler::prioritize(const ExtenderArgs& args) const {
    const auto pod = request_of(args.pod);
    if (!pod || pod->containers.empty()) return std::vector<int>(args.names.size(), 0);
    return score_nodes(*cache_.snapshot(), args, *pod, scorer_of(*pod).get());
}

std::vector<NodeVictims> Scheduler::preempt(const PreemptionArgs& args) const {
    const auto pod = request_of(args.pod);
    // A pod without a GPU request is left to kube-scheduler, and an invalid request fits nowhere.
    // No pod is evicted for one pod of a gang: it would still wait for the others.
    if (!pod || pod->gang) return {};
    if (pod->containers.empty()) return with_victims(args.nodes);
    return choose_victims(*cache_.snapshot(), args, *pod);
}

Result<PodRequest> Scheduler::read_request(const BindArgs& args) {
    TRY(const PodInfo pod, kube_.get_pod(args.pod));
    if (pod.uid != args.uid) {
        return fail(Code::not_found, fmt::format("pod {} with uid {} is gone; another has its name",
                                                 args.pod.str(), args.uid.str()));
    }
    return request_of(pod);
}

// If the state knows the pod, one call is enough: each call wakes a thread, and makes a snapshot.
Result<Reservation> Scheduler::reserve(const BindArgs& args) {
    using Answer = std::optional<Result<Reservation>>;
    const Answer known = cache_.call([&](ClusterState& state) -> Answer {
        const PendingPod* pending = state.pending(args.uid);
        if (pending == nullptr) return std::nullopt;
        if (!pending->request) return fail(pending->request.error());
        const PodRequestPtr pod = *pending->request;  // it is not pending any more once it has GPUs
        return state.reserve(*pod, args.node, scorer_of(*pod).get());
    });
    if (known) return *known;
    // The watch may be behind kube-scheduler's own.
    TRY(const PodRequest pod, read_request(args));
    return cache_.call(
        [&](ClusterState& state) { return state.reserve(pod, args.node, scorer_of(pod).get()); });
}

std::shared_ptr<const NodeScorer> Scheduler::scorer_of(const PodRequest& pod) const {
    return options_.policies == nullptr ? nullptr : options_.policies->scorer_of(pod);
}

Result<> Scheduler::bind(const BindArgs& args) {
    TRY_VOID(options_.fence.begin(KubeApi::kBindTakes));
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
    // Nothing that may take long may come between this and the write.
    auto allowed = options_.fence.begin(KubeApi::kBindTakes);
    if (!allowed) {
        cache_.post(
            [attempt = reservation.attempt](ClusterState& state) { state.refuse(attempt); });
        return allowed;
    }
    const auto written = kube_.bind(args.uid, args.pod, args.node, annotations);
    if (!written) return reconcile(args, reservation, written.error());
    cache_.post([attempt = reservation.attempt](ClusterState& state) { state.confirm(attempt); });
    log_event(Event::pod_bound, {{"pod", args.pod.str()},
                                 {"node", args.node.str()},
                                 {"gpus", gpus_of(reservation.allocation)}});
    return {};
}

// After a refusal or a lost answer: reads the pod's state from the API server.
Result<> Scheduler::reconcile(const BindArgs& args, const Reservation& reservation,
                              const Error& cause) {
    const auto say = [&](Event event, void (ClusterState::*change)(const Attempt&)) {
        cache_.post([change, attempt = reservation.attempt](ClusterState& state) {
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
        cache_.post(
            [attempt = reservation.attempt](ClusterState& state) { state.confirm(attempt); });
        log_event(Event::bind_reconciled, {{"pod", args.pod.str()}, {"node", args.node.str()}});
        return {};
    }
    const bool gone = pod ? pod->uid != args.uid : pod.error().code == Code::not_found;
    if (gone || (pod && !pod->node.empty())) {
        return say(Event::bind_refused, &ClusterState::release);
    }
    // The pod is unbound. After a conflict, this attempt has failed. After a lost answer, or if the
    // pod cannot be read, the write may still happen: the GPUs stay reserved until that is known.
    if (pod && cause.code == Code::conflict) {
        return say(Event::bind_refused, &ClusterState::refuse);
    }
    return say(Event::bind_uncertain, &ClusterState::confirm);
}

void Scheduler::reconcile_uncertain() {
    gangs_.reconcile();
    const auto assigned_pods = cache_.call([](ClusterState& state) { return state.unconfirmed(); });
    const std::chrono::nanoseconds now = clock_.steady();
    std::map<std::pair<PodUid, int>, std::chrono::nanoseconds> since;
    for (const AssignedPodPtr& assigned_pod : assigned_pods) {
        const Attempt attempt{assigned_pod->uid, assigned_pod->attempt};
        const auto before = unconfirmed_since_.find({attempt.pod, attempt.number});
        const auto first = before == unconfirmed_since_.end() ? now : before->second;
        since.emplace(std::pair(attempt.pod, attempt.number), first);
        if (now - first < kPatience) continue;
        const auto pod = kube_.get_pod(assigned_pod->name);
        if (!pod && pod.error().code != Code::not_found) continue;
        const bool there = pod && pod->uid == assigned_pod->uid;
        // The watch is behind and will show it; what was read now may be older by then.
        if (there && bound_as(*pod, assigned_pod->allocation)) continue;
        if (there && pod->node.empty() && now - first < kUncertain) continue;
        cache_.post([attempt](ClusterState& state) { state.release(attempt); });
        log_event(Event::bind_reconciled, {{"pod", assigned_pod->name.str()}});
    }
    unconfirmed_since_ = std::move(since);
}

}  // namespace tessera
