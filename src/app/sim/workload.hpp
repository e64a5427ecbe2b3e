// What a replay needs of a trace: nodes in tie order, tasks in the order that they arrive in, and
// the target workload.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/sim/node_caps.hpp"
#include "base/result.hpp"
#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "wire/openb_csv.hpp"

namespace tessera {

struct TimedTask {
    Task task;
    std::optional<std::int64_t> lasts_s{};  // nothing: nobody tells
    int gang = 1;   // it stands for so many, which are placed all or none; 0: another does
    NodeCap cap{};  // of its application, on one node
    std::optional<std::int64_t> came_s{};  // since the trace began; nothing: nobody tells
};

// A model that pods name and no node has.
struct UnknownModel {
    std::string name;
    std::size_t pods = 0;  // rows of the pod list

    friend bool operator==(const UnknownModel&, const UnknownModel&) = default;
};

struct Workload {
    std::vector<NodeShape> nodes;          // in tie order
    std::vector<std::uint32_t> node_rows;  // parallel: its row in the node list
    std::vector<std::string> node_names;   // parallel
    std::vector<std::string> model_names;  // of cards, by the number of the model
    std::vector<Task> arrivals;            // in order
    std::vector<std::uint32_t> pod_rows;   // parallel: its row in the pod list
    // Parallel to the arrivals: so many from here on are placed all or none; 0 for those that
    // follow the first of a gang. Empty: there are no gangs.
    std::vector<std::uint32_t> together;
    bool has_mixed_gangs = false;              // gangs of pods that ask for different things
    std::vector<TimedTask> pods;               // of the whole pod list, each row once
    std::vector<MixClass> mix;                 // of the whole pod list, each row once: 95 %
    std::vector<UnknownModel> unknown_models;  // by name
};

// A file's text. Errors name the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// What `parse` makes of the file. Errors name the path.
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
    int seed = 0;       // of the arrival order
};

// From a folder like testing/fixtures/openb: openb_node_list_gpu_node.csv,
// openb_pod_list_TRACE.csv, arrivals/TRACE.seedSEED.txt. Nodes that the order leaves out come last.
// `nodes` is another node list in place of its own; its tie order is the list's. Errors name a
// file.
Result<Workload> load_workload(const ReadFile& read, const std::string& folder,
                               const TraceName& name, const std::string& nodes = {});

// From lists and an order that names their rows. unsupported: too many models.
Result<Workload> workload_of(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods,
                             ArrivalOrder arrivals);

// `times` clusters beside each other, and as many times the arrivals, one after the other: for
// figures that say how cost grows.
Workload repeated(const Workload& one, int times);

}  // namespace tessera
