#include "simulator/live/live_cluster.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "domain/placement/engine_terms.hpp"
#include "simulator/live/live_terms.hpp"

namespace tessera {
namespace {

class Builder {
  public:
    Builder(const ClusterDump& dump, LiveGpus gpus) : dump_(dump) {
        out_.gpus_of_nodes = std::move(gpus);
        out_.tells_rules = dump.tells_gpu_rules;
        out_.tells_links = dump.tells_links;
        for (std::size_t i = 0; i < dump.nodes.size(); ++i) {
            const DumpNode& node = dump.nodes[i];
            rows_.emplace(node.name, i);
            out_.node_names.push_back(node.name);
            out_.gpus += static_cast<int>(node.gpus.size());
            out_.unhealthy +=
                static_cast<int>(std::ranges::count(node.gpus, false, &DumpGpu::healthy));
        }
        out_.capacity_milli = std::int64_t{out_.gpus} * kMilliPerGpu;
    }

    Result<LiveCluster> build() {
        TRY_VOID(add_pods());
        add_loads();
        std::vector<std::size_t> rows;
        std::vector<MixSample> samples;
        for (const LivePod& pod : out_.pods) {
            rows.push_back(pod.row);
            for (const PlacementTask& task : pod.learnt)
                samples.push_back({task, dump_.pods[pod.row].gpu_rules.models});
        }
        out_.groups = groups_of(dump_, rows);
        out_.mix = target_mix(samples, kTargetPercent);
        return std::move(out_);
    }

  private:
    [[nodiscard]] const LiveGpus& gpus() const { return out_.gpus_of_nodes; }

    // Per GPU size: the kinds of nodes that have only such GPUs, of an allowed model.
    [[nodiscard]] std::vector<ModelSet> kinds_admitted(const GpuRules& rules) const {
        std::vector<ModelSet> out(gpus().sizes().size());
        const bool names_models = !rules.models.empty() || !rules.barred_models.empty();
        const bool is_any = !names_models && out.size() == 1 && gpus().mixed_nodes().empty();
        for (std::size_t number = 0; number < gpus().kinds().size(); ++number) {
            const NodeKind& kind = gpus().kinds()[number];
            if (!kind.mixed && admits_model(rules, kind.model))
                out[kind.size] |= model_bit(static_cast<int>(number));
        }
        if (is_any) out.front() = kAnyModel;
        return out;
    }

    // Learns the pod as the controller does (app/scheduler/scoring/policy_set.hpp): in terms of
    // the most common GPUs that are large enough and of an allowed model.
    void learn(LivePod& pod) const {
        const GpuRules& rules = pod.rules();
        ModelSet admitted = 0;
        std::vector<int> counts(gpus().sizes().size());
        for (std::size_t number = 0; number < gpus().kinds().size(); ++number) {
            if (!admits_model(rules, gpus().kinds()[number].model)) continue;
            admitted |= model_bit(static_cast<int>(number));
            for (std::size_t size = 0; size < counts.size(); ++size)
                counts[size] += gpus().gpus_of_size(static_cast<int>(number), size);
        }
        int most = 0;
        for (std::size_t size = 0; size < counts.size(); ++size) {
            if (pod.variants[size].tasks.empty() || counts[size] <= most) continue;
            most = counts[size];
            pod.learnt = pod.variants[size].tasks;
        }
        const bool is_any = rules.models.empty() && rules.barred_models.empty();
        for (PlacementTask& task : pod.learnt)
            task.models = is_any ? kAnyModel : admitted;
    }

    [[nodiscard]] Result<LivePod> pod_of(std::size_t row) const {
        const DumpPod& from = dump_.pods[row];
        TRY(PodRequest request, request_of(from));
        LivePod pod{.request = std::move(request), .row = row};
        const GpuRules& rules = pod.rules();
        pod.needs_gpus_looked_at = !rules.uuids.empty() || !rules.barred_uuids.empty() ||
                                   rules.anti_affinity || rules.affinity || pod.insists_on_link() ||
                                   has_mps_;
        pod.is_whole = std::ranges::all_of(pod.request.containers, [](const ContainerRequest& one) {
            return one.gpu.memory.kind == MemoryRequest::Kind::whole_gpu;
        });
        const auto admitted = kinds_admitted(rules);
        for (std::size_t size = 0; size < admitted.size(); ++size) {
            const GpuSize& on = gpus().sizes()[size];
            auto tasks = tasks_of(pod.request, on.unit, on.gpu);
            LiveVariant variant{tasks ? *std::move(tasks) : std::vector<PlacementTask>()};
            for (PlacementTask& task : variant.tasks)
                task.models = admitted[size];
            pod.variants.push_back(std::move(variant));
        }
        learn(pod);
        if (from.node.empty()) return pod;
        const std::size_t node = rows_.at(from.node);
        pod.node = static_cast<int>(node);
        if (from.allocated.empty() || dump_.nodes[node].gpus.empty()) return pod;
        const auto gpu = static_cast<std::size_t>(from.allocated.front().shares.front().gpu);
        for (const PlacementTask& task : pod.variants[gpus().size_of(node, gpu)].tasks)
            pod.allocated_milli += milli_of(task);
        return pod;
    }

    Result<> add_pods() {
        std::vector<std::size_t> order(dump_.pods.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t row) -> const std::string& {
            return dump_.pods[row].created;
        });
        pinned_.resize(order.size());
        requests_.resize(order.size());
        for (const std::size_t row : order) {
            TRY(LivePod pod, pod_of(row));
            requests_[row] = pod.request;
            out_.choosing += dump_.pods[row].chooses_nodes ? 1 : 0;
            const bool is_ruled = !pod.rules().admits_any() || pod.insists_on_link();
            out_.ruled += is_ruled ? 1 : 0;
            pinned_[row] = pod.node >= 0 && pod.allocated_milli == 0;
            out_.pinned += pinned_[row] ? 1 : 0;
            if (!pinned_[row]) out_.pods.push_back(std::move(pod));
        }
        return {};
    }

    void add_loads() {
        std::vector<std::vector<LiveAssignedPod>> all(dump_.nodes.size());
        std::vector<std::vector<LiveAssignedPod>> pinned(dump_.nodes.size());
        for (std::size_t row = 0; row < dump_.pods.size(); ++row) {
            const DumpPod& pod = dump_.pods[row];
            if (pod.node.empty()) continue;
            const LiveAssignedPod assigned_pod{&pod, &requests_[row]};
            all[rows_.at(pod.node)].push_back(assigned_pod);
            if (pinned_[row]) pinned[rows_.at(pod.node)].push_back(assigned_pod);
        }
        std::vector<NodeInfo> now;
        std::vector<NodeInfo> empty;
        for (std::size_t i = 0; i < dump_.nodes.size(); ++i) {
            const DumpNode& node = dump_.nodes[i];
            const int kind = gpus().kind_of(i);
            now.push_back(node_info_of(node, kind, all[i]));
            empty.push_back(node_info_of(node, kind, pinned[i]));
            out_.pinned_milli +=
                node_info_of(node, kind, {}).load.free_milli() - empty.back().load.free_milli();
            out_.empty.loads.push_back(empty.back().load);
            out_.seen.push_back(now.back().load);
            out_.now.loads.push_back(now.back().load);
            if (node.closed) out_.now.loads.back().milli = {};
        }
        out_.now.gpus = SimulatedGpus(now);
        out_.empty.gpus = SimulatedGpus(empty);
    }

    const ClusterDump& dump_;
    LiveCluster out_;
    std::map<std::string, std::size_t> rows_;  // rows of nodes, by name
    // A pod uses MPS, so what is free on a GPU is not all that decides whether others may use it.
    const bool has_mps_ = std::ranges::any_of(
        dump_.pods, [](const DumpPod& pod) { return pod.gpu_rules.isolation == "mps"; });
    std::vector<PodRequest> requests_;  // per pod of the dump
    std::vector<bool> pinned_;          // per pod of the dump
};

}  // namespace

bool LivePod::insists_on_link() const {
    return std::ranges::any_of(request.containers, [](const ContainerRequest& one) {
        return one.gpu.rules.link && one.gpu.gpus > 1;
    });
}

Result<LiveCluster> live_cluster(const ClusterDump& dump) {
    TRY(LiveGpus gpus, LiveGpus::of(dump));
    return Builder(dump, std::move(gpus)).build();
}

}  // namespace tessera
