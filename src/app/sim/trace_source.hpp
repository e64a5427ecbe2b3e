// What the simulator's tasks and nodes are read from, and what is changed about them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/sim/fewer_nodes.hpp"
#include "app/sim/gangs.hpp"
#include "app/sim/workload.hpp"

namespace tessera {

struct TraceSource {
    std::string folder;
    std::vector<std::string> files{};  // of the folder and those in it, to tell what it has
    std::string format{"openb"};       // TraceFormat::name
    std::string nodes;                 // a node list like openb's; empty: the trace's own
    bool together = false;  // the instances of a task are a gang, where the format has such
    GangShare gangs;
    std::string_view seed_option{"--seed"};  // that names an order of arrival, for errors
    std::vector<FewerNodes> without;  // which of a model is drawn by the seed, as the gangs are
    // Hears in a line what is odd about a trace and no error, once for each of its orders; may be
    // empty.
    std::function<void(const std::string& line)> tell{};
};

// How a trace's files are read.
struct TraceFormat {
    std::string_view name;
    std::string_view summary;   // its files
    bool has_traces;            // several in a folder, by name
    bool has_instances;         // of tasks, which may be a gang
    std::string_view left_out;  // what the trace tells and nobody here looks at; empty: nothing
    Result<Workload> (*load)(const ReadFile& read, const TraceSource& source,
                             const TraceName& name);
};

std::span<const TraceFormat> trace_formats();
// not_found, naming those that there are.
Result<const TraceFormat*> find_trace_format(std::string_view name);

// What runs of these traces are called: each once; by the name of the format where that is one
// trace.
std::vector<std::string> trace_names(const TraceSource& source,
                                     const std::vector<std::string>& traces);

// Some node has a card. Errors: of the format, of reading its files, of make_gangs() and
// take_out(); invalid_argument where no node has a card, or none is left that has.
Result<Workload> load_source(const ReadFile& read, const TraceSource& source,
                             const TraceName& name);

}  // namespace tessera
