#include "simulator/bound/live_bound.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/counted.hpp"
#include "domain/placement/engine_terms.hpp"
#include "simulator/live/live_placer.hpp"

namespace tessera {
namespace {

// GPUs that are the same for the bound.
struct GpuKind {
    std::string model;
    std::size_t size = 0;  // index in LiveGpus::sizes()
    bool of_mixed_node = false;

    friend auto operator<=>(const GpuKind&, const GpuKind&) = default;
};

class LiveBound final : public BoundSubject {
  public:
    LiveBound(ClusterDump dump, LiveCluster cluster)
        : dump_(std::move(dump)), cluster_(std::move(cluster)) {}

    Result<> prepare() {
        TRY_VOID(add_nodes());
        for (const LivePod& pod : cluster_.pods) {
            begins_.push_back(tasks_.size());
            add_tasks(pod);
            std::int64_t asked = 0;
            for (const PlacementTask& task : pod.learnt)
                asked += milli_of(task);
            asked_milli_.push_back(asked);
        }
        begins_.push_back(tasks_.size());
        return {};
    }

    [[nodiscard]] TraceName name() const override { return {"snapshot", 0}; }
    [[nodiscard]] std::int64_t capacity_milli() const override { return capacity_milli_; }
    [[nodiscard]] const std::vector<std::int64_t>& asked_milli() const override {
        return asked_milli_;
    }
    [[nodiscard]] BoundProblem problem(std::size_t first_arrivals,
                                       CpuOnlyTasks /*cpu_only*/) const override {
        return bound_problem(nodes_, std::span(tasks_).first(begins_[first_arrivals]));
    }
    [[nodiscard]] std::vector<std::int64_t> allocated_milli(
        const PlacementPolicyRow& policy) const override {
        LivePlacer placer(cluster_, cluster_.empty, policy, {});
        for (const LiveGroup& group : cluster_.groups.all)
            placer.place(group);
        std::vector<std::int64_t> allocated(cluster_.pods.size());
        for (const auto& [pod, place] : placer.places())
            allocated[pod] = place.milli;
        return allocated;
    }

  private:
    Result<> add_nodes() {
        const LiveGpus& gpus = cluster_.gpus_of_nodes;
        const auto mixed = gpus.mixed_nodes();
        for (std::size_t i = 0; i < dump_.nodes.size(); ++i) {
            const DumpNode& node = dump_.nodes[i];
            const NodeLoad& load = cluster_.empty.loads[i];
            const bool is_mixed = std::ranges::binary_search(mixed, i);
            std::map<int, int> counts;  // GPUs by kind, in order
            for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
                const GpuKind kind{node.gpus[gpu].model, gpus.size_of(i, gpu), is_mixed};
                const int number = number_of(kind);
                if (number >= kMaxModels) {
                    return fail(Code::unsupported,
                                fmt::format("nodes: more than {} kinds of GPUs (model, memory, "
                                            "unit; GPUs of mixed nodes count separately); leave "
                                            "some nodes out",
                                            kMaxModels));
                }
                kinds_of_gpus_.push_back({&node.gpus[gpu], number});
                if (gpu < kMaxGpus && load.milli.at(gpu) > 0) ++counts[number];
            }
            for (const auto& [kind, count] : counts) {
                nodes_.push_back({.cpu_milli = std::max(load.cpu_milli, 0),
                                  .memory_mib = std::max(load.memory_mib, 0),
                                  .gpus = count,
                                  .model = kind});
                capacity_milli_ += std::int64_t{count} * kMilliPerGpu;
            }
        }
        return {};
    }

    int number_of(const GpuKind& kind) {
        return kinds_.try_emplace(kind, static_cast<int>(kinds_.size())).first->second;
    }

    // The kinds that have a GPU which the rules allow by model and UUID.
    ModelSet kinds_admitted(const LivePod& pod) {
        const GpuRules& rules = pod.rules();
        const auto& texts = dump_.pods[pod.row].gpu_rules;
        const auto [known, is_new] = admitted_.try_emplace({texts.models, texts.uuids});
        if (!is_new) return known->second;
        ModelSet of_models = 0;
        for (const auto& [kind, number] : kinds_) {
            if (admits_model(rules, kind.model)) of_models |= model_bit(number);
        }
        for (const auto& [gpu, kind] : kinds_of_gpus_) {
            if (admits_uuid(rules, gpu->uuid)) known->second |= model_bit(kind) & of_models;
        }
        return known->second;
    }

    void add_tasks(const LivePod& pod) {
        const ModelSet admitted = kinds_admitted(pod);
        for (std::size_t container = 0; container < pod.request.containers.size(); ++container) {
            std::vector<BoundWay> ways;
            for (std::size_t size = 0; size < pod.variants.size(); ++size) {
                const std::vector<PlacementTask>& tasks = pod.variants[size].tasks;
                if (tasks.empty()) continue;
                for (const bool of_mixed_node : {false, true}) {
                    PlacementTask task = tasks[container];
                    task.models = admitted & kinds_of(size, of_mixed_node);
                    if (task.models != 0) ways.push_back({task, of_mixed_node});
                }
            }
            tasks_.push_back(std::move(ways));
        }
    }

    [[nodiscard]] ModelSet kinds_of(std::size_t size, bool of_mixed_node) const {
        ModelSet out = 0;
        for (const auto& [kind, number] : kinds_) {
            if (kind.size == size && kind.of_mixed_node == of_mixed_node) out |= model_bit(number);
        }
        return out;
    }

    const ClusterDump dump_;
    const LiveCluster cluster_;
    std::map<GpuKind, int> kinds_;
    std::vector<std::pair<const DumpGpu*, int>> kinds_of_gpus_;
    std::map<std::pair<std::string, std::string>, ModelSet> admitted_;  // by models and UUIDs
    std::vector<NodeShape> nodes_;
    std::int64_t capacity_milli_ = 0;
    std::vector<std::vector<BoundWay>> tasks_;  // one entry per container
    std::vector<std::size_t> begins_;           // per pod: index of its first entry in tasks_
    std::vector<std::int64_t> asked_milli_;     // per pod
};

}  // namespace

Result<std::unique_ptr<BoundSubject>> live_bound(ClusterDump dump, LiveCluster cluster) {
    if (cluster.gpus > 0 && cluster.unhealthy == cluster.gpus) {
        return fail(Code::invalid_argument,
                    cluster.gpus == 1
                        ? std::string("its one GPU is out of order")
                        : fmt::format("all of its {} GPUs are out of order", cluster.gpus));
    }
    auto bound = std::make_unique<LiveBound>(std::move(dump), std::move(cluster));
    TRY_VOID(bound->prepare());
    return std::unique_ptr<BoundSubject>(std::move(bound));
}

std::string rules_left_out(const LiveCluster& cluster) {
    const auto count = [&](const auto& has) {
        return static_cast<std::size_t>(std::ranges::count_if(
            cluster.pods, [&](const LivePod& pod) { return has(pod.rules()); }));
    };
    const std::size_t by_uuid = count(
        [](const GpuRules& rules) { return !rules.uuids.empty() || !rules.barred_uuids.empty(); });
    const std::size_t by_affinity =
        count([](const GpuRules& rules) { return rules.anti_affinity || rules.affinity; });
    const auto by_link =
        static_cast<std::size_t>(std::ranges::count_if(cluster.pods, &LivePod::insists_on_link));
    std::vector<std::string> parts;
    if (by_uuid > 0) {
        parts.push_back(
            fmt::format("gpu-uuids of {} (only the kind of GPU counts)", counted(by_uuid, "pod")));
    }
    if (by_affinity > 0) {
        parts.push_back(fmt::format("gpu-anti-affinity and gpu-affinity of {} (ignored)",
                                    counted(by_affinity, "pod")));
    }
    if (by_link > 0)
        parts.push_back(fmt::format("gpu-topology of {} (ignored)", counted(by_link, "pod")));
    if (parts.empty()) return {};
    return fmt::format("rules that the bound does not apply in full: {}", fmt::join(parts, ", "));
}

}  // namespace tessera
