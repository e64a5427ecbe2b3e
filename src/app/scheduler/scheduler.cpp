#include "app/scheduler/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "base/log.hpp"
#include "wire/binding_annotations.hpp"

namespace tessera {
namespace {

// A Binding whose answer was lost may still be under way in the API server for its request timeout.
constexpr std::chrono::seconds kDoubt{60};
// The watch is normally milliseconds behind; reading earlier would only repeat it.
constexpr std::chrono::seconds kPatience{10};

// kube-scheduler knows 0 to 10. The gap keeps the best node best when its own scorers, most of
// which prefer the emptiest node, add theirs (deploy/scheduler/config.yaml has the weight).
constexpr int kBestScore = 10;
constexpr int kSecondScore = 7;

bool bound_as(const PodFacts& pod, const Allocation& allocation) {
    return pod.node == allocation.node && pod.allocation && *pod.allocation == allocation;
}

std::string cards_of(const Allocation& allocation) {
    std::vector<std::string> uuids;
    for (const Hold& hold : holds(allocation.containers))
        uuids.push_back(hold.uuid.str());
    return fmt::format("{}", fmt::join(uuids, ","));
}

// The nodes of a request lie anywhere: the row of a later one, and the cards of one that comes
// sooner, are on their way while this one is weighed (extender_bench).
void fetch_ahead(const ClusterView& view, std::span<const std::uint32_t> positions, std::size_t i) {
    constexpr std::size_t kRowsAhead = 16;
    constexpr std::size_t kCardsAhead = 8;
    const auto row_at = [&](std::size_t at) -> const PlacementRow* {
        if (at >= positions.size() || positions[at] == NameIndex::kNone) return nullptr;
        return &view.rows()[positions[at]];
    };
    if (const PlacementRow* row = row_at(i + kRowsAhead)) __builtin_prefetch(row);
    if (const PlacementRow* row = row_at(i + kCardsAhead)) {
        __builtin_prefetch(view.free_of(*row).data());
    }
}

// Why the pod cannot go to args.names[i], in the list that the scheduler wants it in.
void explain(Placer& placer, const ClusterView& view, std::uint32_t position,
             const ExtenderArgs& args, std::size_t i, FilterAnswer& answer) {
    if (position == NameIndex::kNone) {
        answer.failed.push_back({i, fmt::format("node \"{}\" not found", args.names[i])});
        return;
    }
    const PlacementRow& row = view.rows()[position];
    if (row.open) {
        const Misfit& misfit = placer.explain(row);
        (misfit.never ? answer.unresolvable : answer.failed).push_back({i, misfit.reason});
        return;
    }
    const std::string& blocked = row.node->blocked;
    if (!blocked.empty()) {
        answer.failed.push_back({i, blocked});
    } else {
        answer.unresolvable.push_back(
            {i, fmt::format("The node {} is not for GPU share, need skip", args.names[i])});
    }
}

// A pod whose Binding is under way or in doubt, and that is asked about again: it has its cards.
FilterAnswer only_on(const NodeName& node, const ExtenderArgs& args) {
    FilterAnswer answer;
    for (std::size_t i = 0; i < args.names.size(); ++i) {
        if (args.names[i] == node.str()) {
            answer.fitting.push_back(i);
        } else {
            answer.failed.push_back(
                {i, fmt::format("the pod's binding to node {} is not settled yet", node.str())});
        }
    }
    return answer;
}

FilterAnswer fitting_nodes(const ClusterView& view, const ExtenderArgs& args,
                           const PodRequest& request, const Policy& policy) {
    if (const Tenant* held = view.unseen(args.pod.uid)) return only_on(held->allocation.node, args);
    FilterAnswer answer;
    answer.fitting.reserve(args.names.size());
    Placer placer(request, policy);
    const auto positions = view.positions(args.names);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const bool known = positions[i] != NameIndex::kNone;
        if (known && placer.fits(view.rows()[positions[i]])) {
            answer.fitting.push_back(i);
        } else {
            explain(placer, view, positions[i], args, i, answer);
        }
    }
    return answer;
}

}  // namespace

Scheduler::Scheduler(KubeApi& kube, Keeper& keeper, const Policy& policy, Clock& clock)
    : kube_(kube), keeper_(keeper), policy_(policy), clock_(clock), second_look_(clock) {}

FilterAnswer Scheduler::filter(const ExtenderArgs& args) {
    FilterAnswer answer;
    const auto request = parse_pod_request(args.pod.containers);
    if (!request) {
        for (std::size_t i = 0; i < args.names.size(); ++i)
            answer.unresolvable.push_back({i, request.error().text});
        return answer;
    }
    if (request->empty()) {
        answer.fitting.resize(args.names.size());
        std::iota(answer.fitting.begin(), answer.fitting.end(), 0);
        return answer;
    }
    answer = fitting_nodes(*keeper_.view(), args, *request, policy_);
    const bool may_change = answer.fitting.empty() && !answer.failed.empty();
    if (!may_change || !second_look_.wait()) return answer;
    return fitting_nodes(*keeper_.view(), args, *request, policy_);
}

std::vector<int> Scheduler::prioritize(const ExtenderArgs& args) const {
    // The policy's, then the node's spare memory.
    using Price = std::pair<std::int64_t, std::int64_t>;
    constexpr Price kNoFit{std::numeric_limits<std::int64_t>::max(), 0};
    std::vector<int> scores(args.names.size(), 0);
    const auto request = parse_pod_request(args.pod.containers);
    if (!request || request->empty()) return scores;
    const auto view = keeper_.view();
    if (const Tenant* held = view->unseen(args.pod.uid)) {
        const auto node = std::ranges::find(args.names, held->allocation.node.str());
        if (node != args.names.end()) scores[node - args.names.begin()] = kBestScore;
        return scores;
    }
    Placer placer(*request, policy_);
    std::vector<Price> prices(args.names.size(), kNoFit);
    Price cheapest = kNoFit;
    std::int64_t dearest = std::numeric_limits<std::int64_t>::min();
    const auto positions = view->positions(args.names);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        fetch_ahead(*view, positions, i);
        if (positions[i] == NameIndex::kNone) continue;
        const PlacementRow& row = view->rows()[positions[i]];
        const auto price = placer.price(row, view->free_of(row));
        if (!price) continue;
        prices[i] = {*price, row.spare.count};
        cheapest = std::min(cheapest, prices[i]);
        dearest = std::max(dearest, *price);
    }
    if (cheapest == kNoFit) return scores;
    const auto span = static_cast<double>(std::max<std::int64_t>(dearest - cheapest.first, 1));
    for (std::size_t i = 0; i < prices.size(); ++i) {
        if (prices[i] == kNoFit) continue;
        const auto above = static_cast<double>(prices[i].first - cheapest.first);
        const double score = kSecondScore * (1 - above / span);
        scores[i] = prices[i] == cheapest ? kBestScore : static_cast<int>(score);
    }
    return scores;
}

Result<PodRequest> Scheduler::request_of(const BindArgs& args) {
    const auto pending = keeper_.ask([&](ClusterState& state) {
        const PendingPod* pod = state.pending(args.uid);
        return pod == nullptr ? std::optional<Result<PodRequest>>() : pod->request;
    });
    if (pending) return *pending;
    // The watch may be behind the scheduler's own.
    TRY(const PodFacts pod, kube_.get_pod(args.pod));
    if (pod.uid != args.uid) {
        return fail(Code::not_found, fmt::format("pod {} with uid {} is gone; another has its name",
                                                 args.pod.str(), args.uid.str()));
    }
    return parse_pod_request(pod.containers);
}

Result<> Scheduler::bind(const BindArgs& args) {
    TRY(const PodRequest request, request_of(args));
    if (request.empty()) return kube_.bind(args.uid, args.pod, args.node, {});
    const auto reservation = keeper_.ask([&](ClusterState& state) {
        return state.reserve(args.uid, args.pod, args.node, request, policy_);
    });
    if (!reservation) {
        log_event(Event::bind_refused,
                  {{"pod", args.pod.str()}, {"reason", reservation.error().text}});
        return fail(reservation.error());
    }
    if (reservation->kind == Reservation::Kind::done) return {};
    return write_binding(args, *reservation);
}

Result<> Scheduler::write_binding(const BindArgs& args, const Reservation& reservation) {
    const auto annotations =
        binding_annotations(reservation.allocation, reservation.node, clock_.unix_ns());
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
