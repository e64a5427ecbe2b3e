// The data of a trace for a replay: nodes in tie order, tasks in order of arrival, and the target
// workload.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"
#include "simulator/traces/openb_csv.hpp"
#include "simulator/workload/node_caps.hpp"

namespace tessera {

struct TimedTask {
    PlacementTask task;
    std::optional<std::int64_t> lasts_s{};  // nothing: unknown
    int gang = 1;   // pods that it stands for, placed all or none; 0: another stands for it
    NodeCap cap{};  // for its application, on one node
    std::optional<std::int64_t> came_s{};  // arrival, since the trace began; nothing: unknown
};

// A model that pods name and no node has.
struct UnknownModel {
    std::string name;
    std::size_t pods = 0;  // rows of the pod list

    friend bool operator==(const UnknownModel&, const UnknownModel&) = default;
};

struct Workload {
    std::vector<NodeShape> nodes;          // in tie order
    std::vector<std::uint32_t> node_rows;  // parallel: row in the node list
    std::vector<std::string> node_names;   // parallel
    std::vector<std::string> model_names;  // of GPUs, by the number of the model
    std::vector<PlacementTask> arrivals;   // in order
    std::vector<std::uint32_t> pod_rows;   // parallel: row in the pod list
    // Parallel to the arrivals: the number of tasks from here on that are placed all or none; 0 for
    // those that follow the first of a gang. Empty: there are no gangs.
    std::vector<std::uint32_t> together;
    bool has_mixed_gangs = false;              // gangs whose pods have different requests
    std::vector<TimedTask> pods;               // the whole pod list, each row once
    std::vector<MixClass> mix;                 // of the whole pod list, each row once: 95 %
    std::vector<UnknownModel> unknown_models;  // by name
};

// Reads the text of a file. Errors name the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Parses the file with `parse`. Errors name the path.
template <class Parse>
auto parsed(const ReadFile& read, const std::string& path, Parse parse)
    -> decltype(parse(std::string_view{})) {
    TRY(const std::string text, read(path));
    auto value = parse(std::string_view(text));
    if (!value) return fail(value.error().in(path));
    return value;
}

struct TraceName {
    std::string trace;  // "default" for openb_pod_list_default.csv
    int seed = 0;       // of the order of arrival
};

// Reads a folder like testing/fixtures/openb: openb_node_list_gpu_node.csv,
// openb_pod_list_TRACE.csv, arrivals/TRACE.seedSEED.txt. Nodes that the order leaves out come last.
// `nodes` is another node list, which replaces the folder's own; its tie order is that of the list.
// Errors name a file.
Result<Workload> load_workload(const ReadFile& read, const std::string& folder,
                               const TraceName& name, const std::string& nodes = {});

// Builds a workload from lists and an order of their rows. unsupported: too many models.
Result<Workload> workload_of(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods,
                             ArrivalOrder arrivals);

// `times` copies of the cluster, and as many times the arrivals, one after the other: for measuring
// how the cost grows.
Workload repeated(const Workload& one, int times);

}  // namespace tessera
