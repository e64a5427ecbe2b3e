#include "app/scheduler/feed.hpp"

#include <chrono>
#include <memory>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kSettlePeriod{5};

Watched watched(const NodeChanges&) {
    return Watched::nodes;
}
Watched watched(const PodChanges&) {
    return Watched::pods;
}

// What is present came after what was removed: a node that was deleted and made again within one
// batch is there.
void apply(ClusterState& state, const NodeChanges& changes) {
    for (const NodeName& name : changes.removed)
        state.remove_node(name);
    for (const NodeInventory& node : changes.present)
        state.set_node(node);
    if (changes.all) state.keep_only_nodes(*changes.all);
}

void apply(ClusterState& state, const PodChanges& changes) {
    for (const PodUid& uid : changes.removed)
        state.remove_pod(uid);
    for (const PodFacts& pod : changes.present) {
        if (!state.set_pod(pod)) log_event(Event::allocation_changed, {{"pod", pod.name.str()}});
    }
    if (changes.all) state.keep_only_pods(*changes.all);
}

void apply(ClusterState& state, const PodGroupChanges& changes) {
    for (const GangId& id : changes.removed)
        state.remove_pod_group(id);
    for (const PodGroup& group : changes.present)
        state.set_pod_group(group);
    if (changes.all) state.keep_only_pod_groups(*changes.all);
}

}  // namespace

// Counted when the list is in the view, not before: until then a node would be "not found".
template <class Changes>
void Feed::take(Changes changes, bool& listed, std::function<void()> published) {
    metrics_.heard(watched(changes));
    if (changes.all) metrics_.count_list(watched(changes));
    if (!changes.all && changes.present.empty() && changes.removed.empty()) return;
    const bool first = changes.all.has_value() && !listed;
    listed |= first;
    auto shared = std::make_shared<const Changes>(std::move(changes));
    if (first) {
        published = [progress = progress_, then = std::move(published)] {
            if (then) then();
            if (--progress->lists_missing > 0) return;
            progress->synced = true;
            log_event(Event::cluster_synced);
        };
    }
    keeper_.post([shared](ClusterState& state) { apply(state, *shared); }, std::move(published));
}

Feed::Feed(KubeApi& kube, Keeper& keeper, Scheduler& scheduler, SchedulerMetrics& metrics,
           Clock& clock, PodGroups* groups)
    : kube_(kube),
      keeper_(keeper),
      scheduler_(scheduler),
      metrics_(metrics),
      clock_(clock),
      groups_(groups) {}

void Feed::on_trouble(const Error& error) {
    metrics_.count_api_trouble();
    log_event(Event::api_trouble, {{"reason", error.text}});
}

void Feed::follow_nodes(const std::stop_token& stop) {
    bool listed = false;
    kube_.follow_nodes([&](NodeChanges changes) { take(std::move(changes), listed); },
                       [this](const Error& error) { on_trouble(error); }, stop);
}

void Feed::follow_pods(const std::stop_token& stop) {
    bool listed = false;
    const std::stop_callback forward(stop, [this] {
        const std::scoped_lock lock(rounds_mutex_);
        round_ends_.request_stop();
    });
    while (!stop.stop_requested()) {
        int round = 0;
        std::stop_token ends;
        {
            const std::scoped_lock lock(rounds_mutex_);
            round = ++round_;
            round_ends_ = std::stop_source();
            ends = round_ends_.get_token();
        }
        if (stop.stop_requested()) return;
        kube_.follow_pods(
            [&](PodChanges changes) {
                auto done = changes.all ? asked_until(round) : nullptr;
                take(std::move(changes), listed, std::move(done));
            },
            [this](const Error& error) { on_trouble(error); }, ends);
    }
}

void Feed::relist_pods(std::function<void()> done) {
    auto listed = [&keeper = keeper_, done = std::move(done)] {
        keeper.post([](ClusterState& state) { state.release_unconfirmed(); }, done);
    };
    const std::stop_source round = [&] {
        const std::scoped_lock lock(rounds_mutex_);
        asked_.push_back({round_ + 1, std::move(listed)});
        return round_ends_;
    }();
    round.request_stop();
}

// What is to be called when the list of this round is in the view.
std::function<void()> Feed::asked_until(int round) {
    const std::scoped_lock lock(rounds_mutex_);
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

void Feed::follow_pod_groups(const std::stop_token& stop) {
    if (groups_ == nullptr) return;
    groups_->follow_pod_groups(
        [this](PodGroupChanges changes) {
            auto shared = std::make_shared<const PodGroupChanges>(std::move(changes));
            keeper_.post([shared](ClusterState& state) { apply(state, *shared); });
        },
        [this](const Error& error) { on_trouble(error); }, stop);
}

void Feed::settle(const std::stop_token& stop) {
    while (true) {
        clock_.sleep_for(kSettlePeriod, stop);
        if (stop.stop_requested()) return;
        scheduler_.settle_unconfirmed();
    }
}

FeedThreads::FeedThreads(Feed& feed)
    : threads_{std::jthread([&feed](const std::stop_token& stop) { feed.follow_nodes(stop); }),
               std::jthread([&feed](const std::stop_token& stop) { feed.follow_pods(stop); }),
               std::jthread([&feed](const std::stop_token& stop) { feed.follow_pod_groups(stop); }),
               std::jthread([&feed](const std::stop_token& stop) { feed.settle(stop); })} {}

}  // namespace tessera
