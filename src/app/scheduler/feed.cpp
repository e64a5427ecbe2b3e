#include "app/scheduler/feed.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kSettlePeriod{5};

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

}  // namespace

// Counted when the list is in the view, not before: until then a node would be "not found".
template <class Changes>
void Feed::take(Changes changes, bool& listed) {
    const bool first = changes.all.has_value() && !listed;
    listed |= first;
    auto shared = std::make_shared<const Changes>(std::move(changes));
    std::function<void()> published;
    if (first) {
        published = [progress = progress_] {
            if (--progress->lists_missing > 0) return;
            progress->synced = true;
            log_event(Event::cluster_synced);
        };
    }
    keeper_.post([shared](ClusterState& state) { apply(state, *shared); }, std::move(published));
}

Feed::Feed(KubeApi& kube, Keeper& keeper, Scheduler& scheduler, SchedulerMetrics& metrics)
    : keeper_(keeper) {
    const auto on_trouble = [&metrics](const Error& error) {
        metrics.count_api_trouble();
        log_event(Event::api_trouble, {{"reason", error.text}});
    };
    threads_.emplace_back([this, &kube, on_trouble](const std::stop_token& stop) {
        bool listed = false;
        kube.follow_nodes([&](NodeChanges changes) { take(std::move(changes), listed); },
                          on_trouble, stop);
    });
    threads_.emplace_back([this, &kube, on_trouble](const std::stop_token& stop) {
        bool listed = false;
        kube.follow_pods([&](PodChanges changes) { take(std::move(changes), listed); }, on_trouble,
                         stop);
    });
    threads_.emplace_back([&scheduler](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!wake.wait_for(lock, stop, kSettlePeriod, [&] { return stop.stop_requested(); })) {
            if (stop.stop_requested()) return;
            scheduler.settle_unconfirmed();
        }
    });
}

}  // namespace tessera
