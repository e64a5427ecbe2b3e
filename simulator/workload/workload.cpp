#include "simulator/workload/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/workload/gangs.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;

// The cluster's GPU models, numbered in the order in which the node list first names them.
class ModelNames {
  public:
    // The number of the model; -1 if there are already kMaxModels others.
    int add(const std::string& name) {
        const auto found = std::ranges::find(names_, name);
        if (found != names_.end()) return static_cast<int>(found - names_.begin());
        if (names_.size() == kMaxModels) return -1;
        names_.push_back(name);
        return static_cast<int>(names_.size()) - 1;
    }

    [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

    // Parses "A|B" as a set; a model that no node has goes to `unknown` instead.
    [[nodiscard]] ModelSet set(std::string_view spec, std::set<std::string_view>& unknown) const {
        if (spec.empty()) return kAnyModel;
        ModelSet models = 0;
        while (!spec.empty()) {
            const std::size_t bar = spec.find('|');
            const std::string_view name = spec.substr(0, bar);
            const auto found = std::ranges::find(names_, name);
            if (found != names_.end()) {
                models |= model_bit(static_cast<int>(found - names_.begin()));
            } else {
                unknown.insert(name);
            }
            spec.remove_prefix(bar == std::string_view::npos ? spec.size() : bar + 1);
        }
        return models;
    }

  private:
    std::vector<std::string> names_;
};

Result<std::vector<NodeShape>> shapes_of(const std::vector<OpenbNode>& nodes, ModelNames& models) {
    std::vector<NodeShape> shapes;
    shapes.reserve(nodes.size());
    for (const OpenbNode& node : nodes) {
        const int model = models.add(node.model);
        if (model < 0) {
            return fail(
                Code::unsupported,
                fmt::format("more than {} models of GPUs; leave some nodes out", kMaxModels));
        }
        shapes.push_back({node.cpu_milli, node.memory_mib, node.gpus, model});
    }
    return shapes;
}

PlacementTask task_of(const OpenbPod& pod, const ModelNames& models,
                      std::set<std::string_view>& unknown) {
    return {.cpu_milli = pod.cpu_milli,
            .memory_mib = pod.memory_mib,
            .milli = pod.milli,
            .count = pod.gpus,
            .models = models.set(pod.models, unknown)};
}

// Appends the rows that an order leaves out, so that every node of the list is used.
void name_the_rest(std::vector<std::uint32_t>& order, std::size_t rows) {
    std::vector<bool> is_named(rows);
    for (const std::uint32_t row : order)
        is_named[row] = true;
    for (std::uint32_t row = 0; row < rows; ++row) {
        if (!is_named[row]) order.push_back(row);
    }
}

}  // namespace

Result<Workload> load_workload(const ReadFile& read, const std::string& folder,
                               const TraceName& name, const std::string& node_list) {
    const std::string node_file =
        node_list.empty() ? folder + "/openb_node_list_gpu_node.csv" : node_list;
    TRY(const auto nodes, parsed(read, node_file, read_openb_nodes));
    TRY(const auto pods,
        parsed(read, folder + "/openb_pod_list_" + name.trace + ".csv", read_openb_pods));
    const std::string order =
        fmt::format("{}/arrivals/{}.seed{}.txt", folder, name.trace, name.seed);
    // An order names the rows of the trace's own list; another list uses its own order.
    const std::size_t rows = node_list.empty() ? nodes.size() : kMostNodes;
    TRY(auto arrivals, parsed(read, order, [&](std::string_view text) {
            return read_arrivals(text, rows, pods.size());
        }));
    if (!node_list.empty()) arrivals.nodes.clear();
    name_the_rest(arrivals.nodes, nodes.size());
    auto workload = workload_of(nodes, pods, std::move(arrivals));
    if (!workload) return fail(workload.error().in(node_file));
    return workload;
}

Result<Workload> workload_of(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods,
                             ArrivalOrder arrivals) {
    ModelNames models;
    TRY(const auto shapes, shapes_of(nodes, models));
    std::vector<MixSample> samples;
    samples.reserve(pods.size());
    std::map<std::string_view, std::size_t> unknown;
    for (const OpenbPod& pod : pods) {
        std::set<std::string_view> of_pod;
        samples.push_back({task_of(pod, models, of_pod), pod.models});
        for (const std::string_view name : of_pod)
            ++unknown[name];
    }
    Workload workload;
    for (const auto& [name, count] : unknown)
        workload.unknown_models.push_back({std::string(name), count});
    for (std::size_t row = 0; row < pods.size(); ++row) {
        workload.pods.push_back(
            {.task = samples[row].task, .lasts_s = pods[row].lasts_s, .came_s = pods[row].came_s});
    }
    workload.mix = target_mix(samples, kTargetPercent);
    workload.model_names = models.all();
    for (const std::uint32_t row : arrivals.nodes) {
        workload.nodes.push_back(shapes[row]);
        workload.node_names.push_back(nodes[row].name);
    }
    for (const std::uint32_t row : arrivals.pods)
        workload.arrivals.push_back(samples[row].task);
    workload.node_rows = std::move(arrivals.nodes);
    workload.pod_rows = std::move(arrivals.pods);
    std::vector<std::string> gangs;
    gangs.reserve(pods.size());
    for (const OpenbPod& pod : pods)
        gangs.push_back(pod.gang);
    name_gangs(workload, gangs);
    return workload;
}

Workload repeated(const Workload& one, int times) {
    Workload all = one;
    for (int i = 1; i < times; ++i) {
        all.nodes.insert(all.nodes.end(), one.nodes.begin(), one.nodes.end());
        all.node_rows.insert(all.node_rows.end(), one.node_rows.begin(), one.node_rows.end());
        all.node_names.insert(all.node_names.end(), one.node_names.begin(), one.node_names.end());
        all.arrivals.insert(all.arrivals.end(), one.arrivals.begin(), one.arrivals.end());
        all.pod_rows.insert(all.pod_rows.end(), one.pod_rows.begin(), one.pod_rows.end());
        all.together.insert(all.together.end(), one.together.begin(), one.together.end());
    }
    return all;
}

}  // namespace tessera
