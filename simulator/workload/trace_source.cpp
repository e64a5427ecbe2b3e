#include "simulator/workload/trace_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/counted.hpp"
#include "simulator/common/each_once.hpp"
#include "simulator/traces/dlrm_csv.hpp"
#include "simulator/traces/openb_csv.hpp"
#include "simulator/traces/pai_csv.hpp"

namespace tessera {
namespace {

// The middle parts of file names, between `before` and `behind`: "a" of "list_a.csv".
std::vector<std::string> between(const std::vector<std::string>& files, std::string_view before,
                                 std::string_view behind) {
    std::vector<std::string> out;
    for (const std::string_view file : files) {
        const std::size_t ends = before.size() + behind.size();
        if (file.size() > ends && file.starts_with(before) && file.ends_with(behind))
            out.emplace_back(file.substr(before.size(), file.size() - ends));
    }
    std::ranges::sort(out);
    return out;
}

// Suffix for an error: the traces of the folder, or the orders of this trace.
std::string what_there_is(const TraceSource& source, const TraceName& name) {
    const auto traces = between(source.files, "openb_pod_list_", ".csv");
    if (traces.empty()) return {};
    if (std::ranges::find(traces, name.trace) == traces.end()) {
        return fmt::format("; there is no trace \"{}\" there, only {} (--trace)", name.trace,
                           fmt::join(traces, ", "));
    }
    const auto seeds = between(source.files, fmt::format("arrivals/{}.seed", name.trace), ".txt");
    if (seeds.empty() || std::ranges::find(seeds, std::to_string(name.seed)) != seeds.end())
        return {};
    return fmt::format("; trace {} has no order of seed {}, only of {} ({})", name.trace, name.seed,
                       fmt::join(seeds, ", "), source.seed_option);
}

Result<Workload> load_openb(const ReadFile& read, const TraceSource& source,
                            const TraceName& name) {
    auto workload = load_workload(read, source.folder, name, source.nodes);
    if (workload || workload.error().code != Code::not_found) return workload;
    return fail(Code::not_found, workload.error().text + what_there_is(source, name));
}

// `workload` has a pod for each task, or for each instance of one. In the order of the file, the
// first instance of an application sets the cap for all instances, also if it sets none.
void set_caps(Workload& workload, const std::vector<TraceTask>& tasks, bool together) {
    std::map<std::string_view, NodeCap> apps;
    std::size_t row = 0;
    for (const TraceTask& task : tasks) {
        NodeCap says;
        if (task.most_on_node > 0)
            says = {static_cast<std::int32_t>(apps.size()), task.most_on_node};
        const NodeCap cap = apps.try_emplace(task.app, says).first->second;
        for (int i = together ? 1 : task.instances; i > 0; --i)
            workload.pods[row++].cap = cap;
    }
}

// In order of arrival.
Result<Workload> in_order(const std::vector<OpenbNode>& nodes, const std::vector<TraceTask>& tasks,
                          bool together) {
    std::vector<OpenbPod> pods;
    std::vector<int> gangs;
    std::vector<std::int64_t> came;
    for (const TraceTask& task : tasks) {
        const int times = together ? 1 : task.instances;
        pods.insert(pods.end(), static_cast<std::size_t>(times), task.pod);
        gangs.insert(gangs.end(), static_cast<std::size_t>(times), together ? task.instances : 1);
        came.insert(came.end(), static_cast<std::size_t>(times), task.came_s);
    }
    ArrivalOrder order;
    for (std::size_t row = 0; row < pods.size(); ++row)
        pods[row].came_s = std::max<std::int64_t>(came[row], 0);
    order.nodes.resize(nodes.size());
    std::iota(order.nodes.begin(), order.nodes.end(), 0U);
    order.pods.resize(pods.size());
    std::iota(order.pods.begin(), order.pods.end(), 0U);
    std::ranges::stable_sort(order.pods, {}, [&](std::uint32_t row) { return came[row]; });
    TRY(Workload workload, workload_of(nodes, pods, std::move(order)));
    set_caps(workload, tasks, together);
    if (!together) return workload;
    for (std::size_t row = 0; row < gangs.size(); ++row)
        workload.pods[row].gang = gangs[row];
    spread_gangs(workload);
    return workload;
}

Result<Workload> load_dlrm(const ReadFile& read, const TraceSource& source,
                           const TraceName& /*name*/) {
    if (source.nodes.empty()) {
        return fail(Code::invalid_argument,
                    "the trace dlrm2025 lists no nodes; name a list with --nodes");
    }
    TRY(const auto nodes, parsed(read, source.nodes, read_openb_nodes));
    TRY(const auto tasks,
        parsed(read, source.folder + "/disaggregated_DLRM_trace.csv", read_dlrm_instances));
    return in_order(nodes, tasks, false);
}

Result<Workload> load_pai(const ReadFile& read, const TraceSource& source,
                          const TraceName& /*name*/) {
    TRY(const auto nodes,
        source.nodes.empty()
            ? parsed(read, source.folder + "/pai_machine_spec.csv", read_pai_machines)
            : parsed(read, source.nodes, read_openb_nodes));
    TRY(const auto tasks, parsed(read, source.folder + "/pai_task_table.csv", read_pai_tasks));
    return in_order(nodes, tasks, source.together);
}

// Pods that name only such models fit nowhere.
void tell_unknown_models(const TraceSource& source, const TraceName& name,
                         const Workload& workload) {
    if (!source.tell || workload.unknown_models.empty()) return;
    std::vector<std::string> lines;
    lines.reserve(workload.unknown_models.size());
    for (const UnknownModel& model : workload.unknown_models)
        lines.push_back(fmt::format("{} ({})", model.name, counted(model.pods, "pod")));
    source.tell(fmt::format("{}: models that pods name and no node has: {}", name.trace,
                            fmt::join(lines, ", ")));
}

constexpr auto kFormats = std::to_array<TraceFormat>({
    {"openb",
     "Alibaba 2023: openb_node_list_gpu_node.csv, openb_pod_list_TRACE.csv, "
     "arrivals/TRACE.seedSEED.txt",
     true, false, "", load_openb},
    {"dlrm2025",
     "Alibaba 2025: disaggregated_DLRM_trace.csv, and --nodes, in the order in which instances "
     "were created",
     false, false, "instances of CPU nodes (role CN), RDMA and disk", load_dlrm},
    {"pai2020",
     "Alibaba 2020: pai_machine_spec.csv, pai_task_table.csv, in the order in which tasks started",
     false, true,
     "tasks that never started, and gpu_type of tasks, which is the type that they got and not "
     "the one that they requested",
     load_pai},
});

}  // namespace

std::span<const TraceFormat> trace_formats() {
    return kFormats;
}

Result<const TraceFormat*> find_trace_format(std::string_view name) {
    const auto* found = std::ranges::find(kFormats, name, &TraceFormat::name);
    if (found != kFormats.end()) return found;
    std::vector<std::string_view> names;
    names.reserve(kFormats.size());
    for (const TraceFormat& format : kFormats)
        names.push_back(format.name);
    return fail(Code::not_found,
                fmt::format("no trace format \"{}\"; there is {}", name, fmt::join(names, ", ")));
}

std::vector<std::string> trace_names(const TraceSource& source,
                                     const std::vector<std::string>& traces) {
    const auto format = find_trace_format(source.format);
    if (format && !(*format)->has_traces) return {source.format};
    return each_once(traces);
}

Result<Workload> load_source(const ReadFile& read, const TraceSource& source,
                             const TraceName& name) {
    TRY(const TraceFormat* format, find_trace_format(source.format));
    TRY(Workload workload, format->load(read, source, name));
    tell_unknown_models(source, name, workload);
    const auto seed = static_cast<std::uint64_t>(name.seed);
    TRY_VOID(make_gangs(workload, source.gangs, seed));
    TRY_VOID(take_out(workload, source.without, seed));
    if (std::ranges::none_of(workload.nodes, [](const NodeShape& node) { return node.gpus > 0; }))
        return fail(Code::invalid_argument, "no node has a GPU; see --nodes and --without");
    return workload;
}

}  // namespace tessera
