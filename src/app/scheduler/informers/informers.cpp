#include "app/scheduler/informers/informers.hpp"

#include <chrono>
#include <memory>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kReconcilePeriod{5};

Watched watched(const NodeChanges&) {
    return Watched::nodes;
}
Watched watched(const PodChanges&) {
    return Watched::pods;
}

// A batch applies deletions first, because a node may be deleted and created again within one
// batch.
void apply(ClusterState& state, const NodeChanges& changes) {
    for (const NodeName& name : changes.deleted)
        state.remove_node(name);
    for (const NodeInventory& node : changes.upserted)
        state.set_node(node);
    if (changes.listed) state.keep_only_nodes(*changes.listed);
}

void apply(ClusterState& state, const PodChanges& changes) {
    for (const PodUid& uid : changes.deleted)
        state.remove_pod(uid);
    for (const PodInfo& pod : changes.upserted) {
        if (!state.set_pod(pod)) log_event(Event::allocation_changed, {{"pod", pod.name.str()}});
    }
    if (changes.listed) state.keep_only_pods(*changes.listed);
}

void apply(ClusterState& state, const PodGroupChanges& changes) {
    for (const GangId& id : changes.deleted)
        state.remove_pod_group(id);
    for (const PodGroup& group : changes.upserted)
        state.set_pod_group(group);
    if (changes.listed) state.keep_only_pod_groups(*changes.listed);
}

}  // namespace

// The list counts once it is in the snapshot: until then a node would be "not found".
template <class Changes>
void Informers::take(Changes changes, bool& has_list, std::function<void()> published) {
    metrics_.heard(watched(changes));
    if (changes.listed) metrics_.count_list(watched(changes));
    if (!changes.listed && changes.upserted.empty() && changes.deleted.empty()) return;
    const bool first = changes.listed.has_value() && !has_list;
    has_list |= first;
    auto shared = std::make_shared<const Changes>(std::move(changes));
    if (first) {
        published = [progress = progress_, then = std::move(published)] {
            if (then) then();
            if (--progress->lists_missing > 0) return;
            progress->synced = true;
            log_event(Event::cluster_synced);
        };
    }
    cache_.post([shared](ClusterState& state) { apply(state, *shared); }, std::move(published));
}

Informers::Informers(KubeApi& kube, ClusterCache& cache, Scheduler& scheduler,
                     SchedulerMetrics& metrics, Clock& clock, PodGroups* groups)
    : kube_(kube),
      cache_(cache),
      scheduler_(scheduler),
      metrics_(metrics),
      clock_(clock),
      groups_(groups) {}

void Informers::on_error(const Error& error) {
    metrics_.count_watch_error();
    log_event(Event::api_error, {{"reason", error.text}});
}

void Informers::follow_nodes(const std::stop_token& stop) {
    bool has_list = false;
    kube_.follow_nodes([&](NodeChanges changes) { take(std::move(changes), has_list); },
                       [this](const Error& error) { on_error(error); }, stop);
}

void Informers::follow_pods(const std::stop_token& stop) {
    bool has_list = false;
    const std::stop_callback forward(stop, [this] {
        const MutexLock lock(rounds_mutex_);
        round_ends_.request_stop();
    });
    while (!stop.stop_requested()) {
        int round = 0;
        std::stop_token ends;
        {
            const MutexLock lock(rounds_mutex_);
            round = ++round_;
            round_ends_ = std::stop_source();
            ends = round_ends_.get_token();
        }
        if (stop.stop_requested()) return;
        kube_.follow_pods(
            [&](PodChanges changes) {
                auto done = changes.listed ? done_calls_of(round) : nullptr;
                take(std::move(changes), has_list, std::move(done));
            },
            [this](const Error& error) { on_error(error); }, ends);
    }
}

void Informers::relist_pods(std::function<void()> done) {
    auto release = [&cache = cache_, done = std::move(done)] {
        cache.post([](ClusterState& state) { state.release_unconfirmed(); }, done);
    };
    const std::stop_source round = [&] {
        const MutexLock lock(rounds_mutex_);
        asked_.push_back({round_ + 1, std::move(release)});
        return round_ends_;
    }();
    round.request_stop();
}

// Returns the function that calls what waits for this round's list.
std::function<void()> Informers::done_calls_of(int round) {
    const MutexLock lock(rounds_mutex_);
    std::vector<std::function<void()>> due;
    std::erase_if(asked_, [&](Asked& asked) {
        if (asked.round > round) return false;
        due.push_back(std::move(asked.done));
        return true;
    });
    return [due = std::move(due)] {
        for (const auto& done : due)
            done();
    };
}

void Informers::follow_pod_groups(const std::stop_token& stop) {
    if (groups_ == nullptr) return;
    groups_->follow_pod_groups(
        [this](PodGroupChanges changes) {
            auto shared = std::make_shared<const PodGroupChanges>(std::move(changes));
            cache_.post([shared](ClusterState& state) { apply(state, *shared); });
        },
        [this](const Error& error) { on_error(error); }, stop);
}

void Informers::reconcile(const std::stop_token& stop) {
    while (true) {
        clock_.sleep_for(kReconcilePeriod, stop);
        if (stop.stop_requested()) return;
        scheduler_.reconcile_uncertain();
    }
}

InformerThreads::InformerThreads(Informers& informers)
    : threads_{
          std::jthread([&informers](const std::stop_token& stop) { informers.follow_nodes(stop); }),
          std::jthread([&informers](const std::stop_token& stop) { informers.follow_pods(stop); }),
          std::jthread(
              [&informers](const std::stop_token& stop) { informers.follow_pod_groups(stop); }),
          std::jthread([&informers](const std::stop_token& stop) { informers.reconcile(stop); })} {}

}  // namespace tessera
