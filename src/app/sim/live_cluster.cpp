#include "app/sim/live_cluster.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "app/sim/live_terms.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {
namespace {

class Builder {
  public:
    Builder(const ClusterSnapshot& snapshot, LiveCards cards) : snapshot_(snapshot) {
        out_.cards_of_nodes = std::move(cards);
        out_.tells_rules = snapshot.tells_card_rules;
        out_.tells_links = snapshot.tells_links;
        for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
            const SnapshotNode& node = snapshot.nodes[i];
            rows_.emplace(node.name, i);
            out_.node_names.push_back(node.name);
            out_.cards += static_cast<int>(node.cards.size());
            out_.unhealthy +=
                static_cast<int>(std::ranges::count(node.cards, false, &SnapshotCard::healthy));
        }
        out_.capacity_milli = std::int64_t{out_.cards} * kMilliPerCard;
    }

    Result<LiveCluster> build() {
        TRY_VOID(add_pods());
        add_loads();
        std::vector<std::size_t> rows;
        std::vector<MixSample> samples;
        for (const LivePod& pod : out_.pods) {
            rows.push_back(pod.row);
            for (const Task& task : pod.learnt)
                samples.push_back({task, snapshot_.pods[pod.row].card_rules.models});
        }
        out_.groups = groups_of(snapshot_, rows);
        out_.mix = target_mix(samples, kTargetPercent);
        return std::move(out_);
    }

  private:
    [[nodiscard]] const LiveCards& cards() const { return out_.cards_of_nodes; }

    // Per size, the kinds of nodes that have such cards and no others, of a model that is admitted.
    [[nodiscard]] std::vector<ModelSet> kinds_admitted(const CardRules& rules) const {
        std::vector<ModelSet> out(cards().sizes().size());
        const bool names_models = !rules.models.empty() || !rules.barred_models.empty();
        const bool is_any = !names_models && out.size() == 1 && cards().mixed_nodes().empty();
        for (std::size_t number = 0; number < cards().kinds().size(); ++number) {
            const NodeKind& kind = cards().kinds()[number];
            if (!kind.mixed && admits_model(rules, kind.model))
                out[kind.size] |= model_bit(static_cast<int>(number));
        }
        if (is_any) out.front() = kAnyModel;
        return out;
    }

    // As the controller learns it (app/scheduler/placements.hpp): on the cards of which there are
    // most, among those that are large enough and of a model that is admitted.
    void learn(LivePod& pod) const {
        const CardRules& rules = pod.rules();
        ModelSet admitted = 0;
        std::vector<int> counts(cards().sizes().size());
        for (std::size_t number = 0; number < cards().kinds().size(); ++number) {
            if (!admits_model(rules, cards().kinds()[number].model)) continue;
            admitted |= model_bit(static_cast<int>(number));
            for (std::size_t size = 0; size < counts.size(); ++size)
                counts[size] += cards().cards_of_size(static_cast<int>(number), size);
        }
        int most = 0;
        for (std::size_t size = 0; size < counts.size(); ++size) {
            if (pod.variants[size].tasks.empty() || counts[size] <= most) continue;
            most = counts[size];
            pod.learnt = pod.variants[size].tasks;
        }
        const bool is_any = rules.models.empty() && rules.barred_models.empty();
        for (Task& task : pod.learnt)
            task.models = is_any ? kAnyModel : admitted;
    }

    [[nodiscard]] Result<LivePod> pod_of(std::size_t row) const {
        const SnapshotPod& from = snapshot_.pods[row];
        TRY(PodAsk ask, ask_of(from));
        LivePod pod{.ask = std::move(ask), .row = row};
        const CardRules& rules = pod.rules();
        pod.needs_cards_looked_at = !rules.uuids.empty() || !rules.barred_uuids.empty() ||
                                    rules.apart || rules.together || pod.insists_on_link();
        pod.is_whole = std::ranges::all_of(pod.ask.request, [](const ContainerRequest& one) {
            return one.gpu.memory.kind == MemoryAsk::Kind::whole_card;
        });
        const auto admitted = kinds_admitted(rules);
        for (std::size_t size = 0; size < admitted.size(); ++size) {
            const CardSize& on = cards().sizes()[size];
            auto tasks = tasks_of(pod.ask, on.unit, on.card);
            LiveVariant variant{tasks ? *std::move(tasks) : std::vector<Task>()};
            for (Task& task : variant.tasks)
                task.models = admitted[size];
            pod.variants.push_back(std::move(variant));
        }
        learn(pod);
        if (from.node.empty()) return pod;
        const std::size_t node = rows_.at(from.node);
        pod.node = static_cast<int>(node);
        if (from.holds.empty() || snapshot_.nodes[node].cards.empty()) return pod;
        const auto card = static_cast<std::size_t>(from.holds.front().shares.front().card);
        for (const Task& task : pod.variants[cards().size_of(node, card)].tasks)
            pod.holds_milli += milli_of(task);
        return pod;
    }

    Result<> add_pods() {
        std::vector<std::size_t> order(snapshot_.pods.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t row) -> const std::string& {
            return snapshot_.pods[row].created;
        });
        pinned_.resize(order.size());
        asks_.resize(order.size());
        for (const std::size_t row : order) {
            TRY(LivePod pod, pod_of(row));
            asks_[row] = pod.ask;
            out_.choosing += snapshot_.pods[row].chooses_nodes ? 1 : 0;
            const bool is_ruled = !pod.rules().admits_any() || pod.insists_on_link();
            out_.ruled += is_ruled ? 1 : 0;
            pinned_[row] = pod.node >= 0 && pod.holds_milli == 0;
            out_.pinned += pinned_[row] ? 1 : 0;
            if (!pinned_[row]) out_.pods.push_back(std::move(pod));
        }
        return {};
    }

    void add_loads() {
        std::vector<std::vector<LiveTenant>> all(snapshot_.nodes.size());
        std::vector<std::vector<LiveTenant>> pinned(snapshot_.nodes.size());
        for (std::size_t row = 0; row < snapshot_.pods.size(); ++row) {
            const SnapshotPod& pod = snapshot_.pods[row];
            if (pod.node.empty()) continue;
            const LiveTenant tenant{&pod, &asks_[row]};
            all[rows_.at(pod.node)].push_back(tenant);
            if (pinned_[row]) pinned[rows_.at(pod.node)].push_back(tenant);
        }
        std::vector<NodeView> now;
        std::vector<NodeView> empty;
        for (std::size_t i = 0; i < snapshot_.nodes.size(); ++i) {
            const SnapshotNode& node = snapshot_.nodes[i];
            const int kind = cards().kind_of(i);
            now.push_back(view_of(node, kind, all[i]));
            empty.push_back(view_of(node, kind, pinned[i]));
            out_.pinned_milli +=
                view_of(node, kind, {}).load.free_milli() - empty.back().load.free_milli();
            out_.empty.loads.push_back(empty.back().load);
            out_.seen.push_back(now.back().load);
            out_.now.loads.push_back(now.back().load);
            if (node.closed) out_.now.loads.back().milli = {};
        }
        out_.now.company = CardCompany(now);
        out_.empty.company = CardCompany(empty);
    }

    const ClusterSnapshot& snapshot_;
    LiveCluster out_;
    std::map<std::string, std::size_t> rows_;  // of nodes, by name
    std::vector<PodAsk> asks_;                 // per pod of the snapshot
    std::vector<bool> pinned_;                 // per pod of the snapshot
};

}  // namespace

bool LivePod::insists_on_link() const {
    return std::ranges::any_of(ask.request, [](const ContainerRequest& one) {
        return one.gpu.rules.link && one.gpu.gpus > 1;
    });
}

Result<LiveCluster> live_cluster(const ClusterSnapshot& snapshot) {
    TRY(LiveCards cards, LiveCards::of(snapshot));
    return Builder(snapshot, std::move(cards)).build();
}

}  // namespace tessera
