#include "app/sim/live_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "app/sim/live_terms.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

constexpr int kMixPercent = 95;

// Nodes on which a share in bytes is the same part of a card.
struct CardClass {
    MemoryUnit unit = MemoryUnit::gib;
    Bytes card;
    ModelSet models = 0;
    int cards = 0;

    [[nodiscard]] bool is_of(const SnapshotNode& node, Bytes largest) const {
        return unit == node.unit && card == largest;
    }
};

Bytes largest_card(const SnapshotNode& node) {
    Bytes largest;
    for (const SnapshotCard& card : node.cards)
        largest = std::max(largest, card.memory);
    return largest;
}

class Builder {
  public:
    explicit Builder(const ClusterSnapshot& snapshot) : snapshot_(snapshot) {}

    Result<LiveCluster> build() {
        for (std::size_t i = 0; i < snapshot_.nodes.size(); ++i)
            TRY_VOID(number_node(i));
        out_.one_size = classes_.size() <= 1;
        for (CardClass& one : classes_) {
            if (out_.one_size) one.models = kAnyModel;
        }
        add_pods();
        add_loads();
        add_groups();
        std::vector<MixSample> samples;
        for (const LivePod& pod : out_.pods) {
            for (const Task& task : pod.learnt)
                samples.push_back({task, {}});
        }
        out_.mix = target_mix(samples, kMixPercent);
        return std::move(out_);
    }

  private:
    Result<> number_node(std::size_t at) {
        const SnapshotNode& node = snapshot_.nodes[at];
        rows_.emplace(node.name, at);
        out_.node_names.push_back(node.name);
        models_.push_back(0);
        class_of_.push_back(0);
        out_.cards += static_cast<int>(node.cards.size());
        for (const SnapshotCard& card : node.cards)
            out_.unhealthy += card.healthy ? 0 : 1;
        if (node.cards.empty()) return {};
        const Bytes largest = largest_card(node);
        auto found = std::ranges::find_if(
            classes_, [&](const CardClass& one) { return one.is_of(node, largest); });
        if (found == classes_.end())
            found = classes_.insert(found, {.unit = node.unit, .card = largest});
        class_of_[at] = static_cast<std::size_t>(found - classes_.begin());
        const auto next = static_cast<int>(kinds_.size());
        const int model =
            kinds_.try_emplace({node.cards.front().model, class_of_[at]}, next).first->second;
        if (model >= kMaxModels) {
            return fail(Code::unsupported,
                        fmt::format("nodes: more than {} kinds of cards (model, memory, unit); "
                                    "leave some nodes out",
                                    kMaxModels));
        }
        models_[at] = model;
        found->models |= model_bit(model);
        found->cards += static_cast<int>(node.cards.size());
        return {};
    }

    LivePod pod_of(std::size_t row) const {
        const SnapshotPod& from = snapshot_.pods[row];
        LivePod pod{.name = from.name.str(), .row = row};
        const PodAsk ask = ask_of(from);
        int most = 0;
        for (const CardClass& one : classes_) {
            auto tasks = tasks_of(ask, one.unit, one.card);
            LiveVariant variant{one.models, tasks ? *std::move(tasks) : std::vector<Task>()};
            if (!variant.tasks.empty() && one.cards > most) {
                most = one.cards;
                pod.learnt = variant.tasks;
            }
            for (Task& task : variant.tasks)
                task.models = one.models;
            pod.variants.push_back(std::move(variant));
        }
        if (from.node.empty()) return pod;
        const std::size_t node = rows_.at(from.node);
        pod.node = static_cast<int>(node);
        if (snapshot_.nodes[node].cards.empty()) return pod;
        for (const Task& task : pod.variants[class_of_[node]].tasks)
            pod.holds_milli += milli_of(task);
        return pod;
    }

    void add_pods() {
        std::vector<std::size_t> order(snapshot_.pods.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t row) -> const std::string& {
            return snapshot_.pods[row].created;
        });
        is_pinned_.resize(order.size());
        for (const std::size_t row : order) {
            LivePod pod = pod_of(row);
            out_.choosing += snapshot_.pods[row].chooses_nodes ? 1 : 0;
            is_pinned_[row] = pod.node >= 0 && pod.holds_milli == 0;
            out_.pinned += is_pinned_[row] ? 1 : 0;
            if (!is_pinned_[row]) out_.pods.push_back(std::move(pod));
        }
    }

    void add_loads() {
        std::vector<std::vector<const SnapshotPod*>> all(snapshot_.nodes.size());
        std::vector<std::vector<const SnapshotPod*>> pinned(snapshot_.nodes.size());
        for (std::size_t row = 0; row < snapshot_.pods.size(); ++row) {
            const SnapshotPod& pod = snapshot_.pods[row];
            if (pod.node.empty()) continue;
            all[rows_.at(pod.node)].push_back(&pod);
            if (is_pinned_[row]) pinned[rows_.at(pod.node)].push_back(&pod);
        }
        for (std::size_t i = 0; i < snapshot_.nodes.size(); ++i) {
            const SnapshotNode& node = snapshot_.nodes[i];
            out_.capacity_milli += static_cast<std::int64_t>(node.cards.size()) * kMilliPerCard;
            out_.seen.push_back(load_with(node, models_[i], all[i]));
            out_.empty.push_back(load_with(node, models_[i], pinned[i]));
            out_.pinned_milli +=
                load_with(node, models_[i], {}).free_milli() - out_.empty.back().free_milli();
            NodeLoad now = out_.seen.back();
            if (node.closed) now.milli = {};
            out_.now.push_back(now);
        }
    }

    // In the order in which the last pod of each came.
    void add_groups() {
        struct Gang {
            LiveGroup waiting;
            LiveGroup all;
            int running = 0;
            std::size_t left = 0;  // of its pods, those to come yet
        };
        std::map<std::pair<std::string, std::string>, Gang> gangs;  // by namespace and name
        const auto gang_of = [&](const SnapshotPod& pod) -> Gang* {
            return pod.gang ? &gangs[{pod.name.space, pod.gang->gang}] : nullptr;
        };
        for (const SnapshotPod& pod : snapshot_.pods) {
            if (Gang* gang = gang_of(pod)) gang->running += pod.node.empty() ? 0 : 1;
        }
        for (const LivePod& pod : out_.pods) {
            if (Gang* gang = gang_of(snapshot_.pods[pod.row])) ++gang->left;
        }
        for (std::size_t i = 0; i < out_.pods.size(); ++i) {
            const LivePod& pod = out_.pods[i];
            const SnapshotPod& from = snapshot_.pods[pod.row];
            Gang* gang = gang_of(from);
            if (gang == nullptr) {
                if (pod.node < 0) out_.waiting.push_back({{i}, 1});
                out_.all.push_back({{i}, 1});
                continue;
            }
            gang->all.pods.push_back(i);
            gang->all.size = gang->running > 0 ? 1 : from.gang->size;
            if (pod.node < 0) gang->waiting.pods.push_back(i);
            gang->waiting.size = std::max(from.gang->size - gang->running, 1);
            if (--gang->left > 0) continue;
            out_.all.push_back(gang->all);
            if (!gang->waiting.pods.empty()) out_.waiting.push_back(gang->waiting);
        }
    }

    const ClusterSnapshot& snapshot_;
    LiveCluster out_;
    std::map<std::string, std::size_t> rows_;  // of nodes, by name
    std::vector<CardClass> classes_;
    std::vector<std::size_t> class_of_;                         // per node
    std::vector<int> models_;                                   // per node
    std::map<std::pair<std::string, std::size_t>, int> kinds_;  // model and class → number
    std::vector<bool> is_pinned_;                               // per pod of the snapshot
};

}  // namespace

Result<LiveCluster> live_cluster(const ClusterSnapshot& snapshot) {
    return Builder(snapshot).build();
}

Result<Workload> bound_workload(const LiveCluster& cluster) {
    if (!cluster.one_size) {
        return fail(Code::unsupported,
                    "the cluster's cards have several sizes, and a share in bytes is another part "
                    "of each; bounds are for cards of one size");
    }
    Workload workload;
    for (const NodeLoad& load : cluster.empty) {
        const auto in_order = std::ranges::count_if(load.milli, [](int free) { return free > 0; });
        workload.nodes.push_back({.cpu_milli = std::max(load.cpu_milli, 0),
                                  .memory_mib = std::max(load.memory_mib, 0),
                                  .cards = static_cast<int>(in_order),
                                  .model = load.model});
    }
    workload.node_names = cluster.node_names;
    for (const LivePod& pod : cluster.pods)
        workload.arrivals.insert(workload.arrivals.end(), pod.learnt.begin(), pod.learnt.end());
    workload.mix = cluster.mix;
    return workload;
}

}  // namespace tessera
