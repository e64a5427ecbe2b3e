#include "app/scheduler/nomination/nominator.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

std::string utc_text(std::int64_t unix_ns) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(unix_ns / 1'000'000'000));
}

bool is_named(const ExtenderArgs& args, const NodeName& node) {
    return std::ranges::find(args.names, node.str()) != args.names.end();
}

bool is_offered(const ExtenderArgs& args, const FilterAnswer& answer, const NodeName& node) {
    return std::ranges::any_of(answer.fitting,
                               [&](std::size_t i) { return args.names[i] == node.str(); });
}

// Whether pods of lower priority are terminating on the node: kube-scheduler may have evicted them
// for a pod of this priority.
bool is_space_made(const Snapshot& snapshot, const NodeName& node, int priority) {
    const NodeInfo* found = snapshot.find(node.str());
    return found != nullptr &&
           std::ranges::any_of(found->assigned_pods, [&](const AssignedPodPtr& pod) {
               return pod->terminating && pod->priority < priority;
           });
}

}  // namespace

Nominator::Nominator(NominatorTools tools)
    : tools_(std::move(tools)),
      withdrawals_(tools_.nominations, tools_.cache, tools_.clock, tools_.fence, writers_),
      writers_(is_on() ? tools_.writers : 0) {}

void Nominator::note(const ExtenderArgs& args, const FilterAnswer& answer) {
    if (!is_on()) return;
    bool asks_first_for_its_node = false;
    // A few pods that may run on few nodes only do not change it much.
    if (args.names.size() > 1)
        asked_nodes_ = std::max(args.names.size(), asked_nodes_ - asked_nodes_ / 16);
    {
        const MutexLock lock(mutex_);
        const auto at = nominations_.find(args.pod.uid);
        if (at != nominations_.end()) {
            Nomination& nomination = at->second;
            const Time now = tools_.clock.steady();
            nomination.since = now;
            std::uint64_t& asked = asked_[{nomination.scheduler, nomination.priority}];
            asked = std::max(asked, nomination.number);
            asks_first_for_its_node = args.names.size() == 1 && is_named(args, nomination.node);
            if (is_offered(args, answer, nomination.node)) {
                if (!nomination.is_followed)
                    tools_.metrics.count_nomination(NominationOutcome::followed);
                nomination.is_followed = true;
                nomination.without.reset();
                doubtful_.erase(args.pod.uid);
            } else if (!nomination.without) {
                nomination.without = now;
                nomination.is_full = is_named(args, nomination.node);
                doubtful_.insert(args.pod.uid);
            }
        }
    }
    if (!answer.fitting.empty() && !is_worthwhile()) return;
    if (!answer.fitting.empty()) {
        tools_.cache.post([uid = args.pod.uid](ClusterState& state) { state.note_offered(uid); });
    } else if (!asks_first_for_its_node) {
        tools_.cache.post([uid = args.pod.uid, now = utc_text(tools_.clock.unix_ns())](
                              ClusterState& state) { state.note_refused(uid, now); });
    }
}

void Nominator::run_round(const std::stop_token& stop) {
    if (!tools_.fence.leads()) {
        if (leads_) stop_leading();
        return;
    }
    leads_ = true;
    end_unsuccessful();
    if (tools_.clock.steady() >= tend_due_) {
        tend(stop);
        tend_due_ = tools_.clock.steady() + kTend;
    }
    for (const std::string& scheduler : tools_.schedulers)
        nominate_queue(scheduler, stop);
    const MutexLock lock(mutex_);
    count_ = nominations_.size();
}

void Nominator::nominate_queue(const std::string& scheduler, const std::stop_token& stop) {
    Plan& plan = plans_[scheduler];
    const std::size_t waiting = unanswered(scheduler);
    const Time now = tools_.clock.steady();
    if (waiting >= tools_.window || stop.stop_requested() || !is_worthwhile() ||
        now < denied_until())
        return;
    // If none is left, kube-scheduler has overtaken the plan.
    if (waiting == 0) plan.pods.clear();
    if (plan.pods.empty()) {
        if (now < plan.due) return;
        plan.pods = plan_for(scheduler);
        if (plan.pods.empty()) plan.due = now + kIdle;
    }
    const std::size_t most = std::min(kBatch, tools_.window - waiting);
    const std::vector<PlannedPod> pods = reserve_next(plan.pods, most);
    begin(pods);
    for (const PlannedPod& pod : pods) {
        if (stop.stop_requested()) return;
        write(pod);
    }
}

// Until kube-scheduler has asked, it is expected to look at every node.
bool Nominator::is_worthwhile() const {
    const std::size_t asked = asked_nodes_;
    return (asked > 0 ? asked : tools_.cache.snapshot()->node_count()) >= tools_.from_nodes;
}

// The number of nominations about which kube-scheduler has not asked yet.
std::size_t Nominator::unanswered(const std::string& scheduler) {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(nominations_, [&](const auto& of) {
        const Nomination& nomination = of.second;
        return !nomination.is_followed && !nomination.without && nomination.scheduler == scheduler;
    }));
}

std::deque<PlannedPod> Nominator::plan_for(const std::string& scheduler) {
    const auto queue = tools_.cache.call([&](const ClusterState& state) {
        return state.queue(scheduler, tools_.skip, kPlan,
                           [this](const PodUid& uid) { return is_left_out(uid); });
    });
    const auto excluded = [this](const PodUid& uid) -> const std::set<NodeName>* {
        const auto past = past_.find(uid);
        return past == past_.end() || past->second.nodes.empty() ? nullptr : &past->second.nodes;
    };
    NominationPlan plan = plan_nominations(tools_.cache.snapshot(), queue, kPlanning,
                                           {tools_.policies, tools_.clock, versions_, excluded});
    for (const PodUid& uid : plan.fit_none)
        let_rest(uid);
    return std::move(plan.pods);
}

// Pods that fit nowhere, or that kube-scheduler would not have where they fit: kube-scheduler does
// not look at them for a while either, so they are not before the others in its queue.
bool Nominator::is_left_out(const PodUid& uid) const {
    const auto past = past_.find(uid);
    return past != past_.end() && (past->second.nodes.size() >= kMostNodes ||
                                   tools_.clock.steady() < past->second.rest_until);
}

// Reserves the nodes of the next pods of the plan that still wait.
std::vector<PlannedPod> Nominator::reserve_next(std::deque<PlannedPod>& plan, std::size_t most) {
    return tools_.cache.call([&](ClusterState& state) {
        std::vector<PlannedPod> out;
        for (; !plan.empty() && out.size() < most; plan.pop_front()) {
            PlannedPod& pod = plan.front();
            const PendingPod* now = state.pending(pod.pod.request->uid);
            if (now == nullptr || now->is_offered || !now->nominated.empty() ||
                !now->reserved_on().empty())
                continue;
            state.reserve_node(pod.pod.request->uid, pod.node, ReservedBy::nominator);
            out.push_back(std::move(pod));
        }
        return out;
    });
}

void Nominator::let_rest(const PodUid& uid) {
    Past& past = past_[uid];
    past.rest = past.rest == Time{} ? Time(kRest) : std::min<Time>(past.rest * 2, kLongestRest);
    past.rest_until = tools_.clock.steady() + past.rest;
}

// From now on, questions about these pods are noted.
void Nominator::begin(const std::vector<PlannedPod>& pods) {
    const MutexLock lock(mutex_);
    for (const PlannedPod& planned : pods) {
        const PodRequest& request = *planned.pod.request;
        nominations_.insert_or_assign(request.uid,
                                      Nomination{.pod = request.name,
                                                 .node = planned.node,
                                                 .scheduler = planned.pod.scheduling->scheduler,
                                                 .priority = request.priority,
                                                 .number = ++numbers_,
                                                 .since = tools_.clock.steady()});
    }
}

void Nominator::write(const PlannedPod& planned) {
    const PodRequest& request = *planned.pod.request;
    writers_.run([this, uid = request.uid, pod = request.name, node = planned.node] {
        if (!is_still_of_use(uid, node)) {
            tools_.metrics.count_nomination(NominationOutcome::overtaken);
            const MutexLock lock(mutex_);
            const auto at = nominations_.find(uid);
            if (at == nominations_.end() || at->second.node != node) return;
            at->second.is_written = true;
            at->second.is_failed = at->second.without.has_value();
            return;
        }
        auto written = tools_.fence.begin(Nominations::kTakes);
        if (written) written = tools_.nominations.nominate_ahead(uid, pod, node);
        tools_.metrics.count_nomination(written ? NominationOutcome::made
                                                : NominationOutcome::failed);
        const MutexLock lock(mutex_);
        const auto at = nominations_.find(uid);
        if (at == nominations_.end() || at->second.node != node) return;
        at->second.is_written = true;
        if (written) return;
        at->second.is_failed = true;
        doubtful_.insert(uid);
        const Code code = written.error().code;
        const bool is_denied = code == Code::permission_denied;
        const bool is_of_this_pod =
            code == Code::not_found || code == Code::conflict || code == Code::invalid_argument;
        if (is_of_this_pod) return;
        denied_until_ = tools_.clock.steady() + (is_denied ? Time(kDenied) : Time(kPause));
        if (code != Code::unavailable)
            log_event(Event::api_error, {{"reason", written.error().text}});
    });
}

// kube-scheduler may have taken the pod while other nominations were written.
bool Nominator::is_still_of_use(const PodUid& uid, const NodeName& node) {
    {
        const MutexLock lock(mutex_);
        const auto at = nominations_.find(uid);
        if (at == nominations_.end() || at->second.without) return false;
    }
    return tools_.cache.call([&](const ClusterState& state) {
        const PendingPod* pod = state.pending(uid);
        return pod != nullptr && pod->is_nominated_ahead() && pod->reserved_node == node &&
               !pod->is_offered;
    });
}

Nominator::Time Nominator::denied_until() {
    const MutexLock lock(mutex_);
    return denied_until_;
}

// Ends the nominations that kube-scheduler does not follow, and those that were not written.
void Nominator::end_unsuccessful() {
    const auto snapshot = tools_.cache.snapshot();
    std::vector<std::pair<PodUid, Nomination>> over;
    {
        const MutexLock lock(mutex_);
        const Time now = tools_.clock.steady();
        const auto is_over = [&](Nomination& nomination) {
            if (!nomination.is_written) return false;
            if (nomination.is_failed) return true;
            if (!nomination.without || now - *nomination.without < kOnItsWay) return false;
            return !is_kept(nomination, *nomination.without, *snapshot);
        };
        for (auto at = doubtful_.begin(); at != doubtful_.end();) {
            const auto nomination = nominations_.find(*at);
            const bool is_known = nomination != nominations_.end();
            const bool ends = is_known && is_over(nomination->second);
            if (ends) {
                over.emplace_back(*nomination);
                nominations_.erase(nomination);
            }
            at = is_known && !ends ? std::next(at) : doubtful_.erase(at);
        }
    }
    for (const auto& [uid, nomination] : over) {
        const Ended why = nomination.is_failed ? Ended::failed
                          : nomination.is_full ? Ended::full
                                               : Ended::not_followed;
        if (give_up(uid, nomination, why) && why != Ended::failed)
            tools_.metrics.count_nomination(NominationOutcome::not_followed);
    }
}

// Whether it stays because kube-scheduler may have evicted pods there. since: when it was asked
// about.
bool Nominator::is_kept(Nomination& nomination, Time since, const Snapshot& snapshot) const {
    const Time now = tools_.clock.steady();
    if (now - since < kMakingSpace && is_space_made(snapshot, nomination.node, nomination.priority))
        nomination.keep_until = now + kUnasked;
    return now < nomination.keep_until;
}

// False if the pod does not wait with this reservation any more: it is bound, or gone.
bool Nominator::give_up(const PodUid& uid, const Nomination& nomination, Ended why) {
    const bool waits = tools_.cache.call([&](ClusterState& state) {
        const PendingPod* pod = state.pending(uid);
        if (pod == nullptr || !pod->is_nominated_ahead() || pod->reserved_node != nomination.node)
            return false;
        state.give_up(uid);
        return true;
    });
    if (!waits) return false;
    // Without a question, kube-scheduler's own filters may refuse every node, or it has not come to
    // the pod.
    const bool is_refused =
        why == Ended::not_followed || (why == Ended::unasked && was_passed(nomination));
    if (is_refused) past_[uid].nodes.insert(nomination.node);
    if (!is_refused) let_rest(uid);
    withdrawals_.add(uid, nomination.pod, nomination.node);
    log_event(
        Event::nomination_ended,
        {{"pod", nomination.pod.str()}, {"node", nomination.node.str()}, {"reason", text_of(why)}});
    return true;
}

const char* Nominator::text_of(Ended why) {
    switch (why) {
        case Ended::not_followed:
            return "kube-scheduler has another reason not to use it";
        case Ended::full:
            return "its GPUs are not free any more";
        case Ended::unasked:
            return "kube-scheduler did not ask about it";
        case Ended::failed:
            break;
    }
    return "it was not written";
}

// Whether kube-scheduler has asked about pods that come after this one in its queue.
bool Nominator::was_passed(const Nomination& nomination) {
    const MutexLock lock(mutex_);
    const auto asked = asked_.find({nomination.scheduler, nomination.priority});
    return asked != asked_.end() && asked->second > nomination.number;
}

void Nominator::tend(const std::stop_token& stop) {
    const Reserved reserved =
        tools_.cache.call([](const ClusterState& state) { return state.reserved_pods(); });
    tend_own(reserved);
    tend_shown(reserved);
    withdrawals_.send(stop);
    tools_.cache.call([&](const ClusterState& state) {
        return std::erase_if(past_, [&](const auto& of) {
            return state.pending(of.first) == nullptr && state.being_bound(of.first) == nullptr;
        });
    });
}

void Nominator::tend_own(const Reserved& reserved) {
    const auto snapshot = tools_.cache.snapshot();
    for (const auto& [uid, pod] : reserved) {
        // Unknown if its bind failed, and it waits again.
        if (pod.reserved_by == ReservedBy::nominator) take_over(uid, pod);
    }
    std::vector<std::pair<PodUid, Nomination>> unasked;
    {
        const MutexLock lock(mutex_);
        const Time now = tools_.clock.steady();
        for (auto at = nominations_.begin(); at != nominations_.end();) {
            auto& [uid, nomination] = *at;
            const auto pod = reserved.find(uid);
            const bool is_gone = pod == reserved.end() || pod->second.node != nomination.node ||
                                 pod->second.reserved_by != ReservedBy::nominator;
            const bool is_over = !is_gone && nomination.is_written &&
                                 now - nomination.since >= kUnasked &&
                                 !is_kept(nomination, nomination.since, *snapshot);
            // The pod is bound, and to another node if the filter was asked without this one.
            if (is_gone && nomination.without)
                tools_.metrics.count_nomination(NominationOutcome::not_followed);
            if (is_over) unasked.emplace_back(*at);
            at = is_gone || is_over ? nominations_.erase(at) : std::next(at);
        }
    }
    for (const auto& [uid, nomination] : unasked) {
        if (give_up(uid, nomination, Ended::unasked))
            tools_.metrics.count_nomination(NominationOutcome::expired);
    }
}

// Looks at the nominations that only the API shows: goes on with those of an earlier leader, and
// ends those of other programs after a while.
void Nominator::tend_shown(const Reserved& reserved) {
    const Time now = tools_.clock.steady();
    const auto snapshot = tools_.cache.snapshot();
    std::erase_if(foreign_, [&](const auto& of) {
        const auto pod = reserved.find(of.first);
        return pod == reserved.end() || pod->second.node != of.second.node;
    });
    for (const auto& [uid, pod] : reserved) {
        if (pod.reserved_by) continue;
        const Time since = foreign_.try_emplace(uid, Foreign{pod.node, now}).first->second.since;
        const bool is_over = pod.is_ahead ? withdrawals_.is_due(uid, pod.node)
                                          : is_on() && now - since >= kForeign &&
                                                !is_space_made(*snapshot, pod.node, pod.priority);
        if (!pod.is_ahead && !is_over) continue;
        const bool is_taken_over = tools_.cache.call([&](ClusterState& state) {
            const PendingPod* waits = state.pending(uid);
            if (waits == nullptr || !waits->reserved_node.empty() || waits->nominated != pod.node)
                return false;
            if (!is_over) return state.reserve_node(uid, pod.node, ReservedBy::nominator);
            state.give_up(uid);
            return false;
        });
        if (is_taken_over) take_over(uid, pod);
    }
}

// Looks after this reservation of ours from now on, if it does not do that already.
void Nominator::take_over(const PodUid& uid, const ReservedPod& pod) {
    const MutexLock lock(mutex_);
    nominations_.try_emplace(uid, Nomination{.pod = pod.name,
                                             .node = pod.node,
                                             .scheduler = pod.scheduler,
                                             .priority = pod.priority,
                                             .since = tools_.clock.steady(),
                                             .is_written = true});
}

// The next leader sees the nominations in the API, and takes them over. What this one gave up is
// still in withdrawals_ if it leads again.
void Nominator::stop_leading() {
    {
        const MutexLock lock(mutex_);
        nominations_.clear();
        doubtful_.clear();
        asked_.clear();
        count_ = 0;
    }
    tools_.cache.call([](ClusterState& state) {
        state.end_reservations(ReservedBy::nominator);
        return true;
    });
    past_.clear();
    plans_.clear();
    foreign_.clear();
    leads_ = false;
}

}  // namespace tessera
