// The source of the simulator's tasks and nodes, and the changes to them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/workload/fewer_nodes.hpp"
#include "simulator/workload/gangs.hpp"
#include "simulator/workload/workload.hpp"

namespace tessera {

struct TraceSource {
    std::string folder;
    std::vector<std::string> files{};  // the folder's files, to list its traces in errors
    std::string format{"openb"};       // TraceFormat::name
    std::string nodes;                 // a node list in openb's format; empty: the trace's own
    bool together = false;  // place a task's instances as a gang, if the format has instances
    GangShare gangs;
    std::string_view seed_option{"--seed"};  // option of the order of arrival, in errors
    std::vector<FewerNodes> without;  // the seed selects nodes of a model, as it selects gangs
    // Receives a line about each peculiarity of a trace that is not an error, once for each of its
    // orders; may be empty.
    std::function<void(const std::string& line)> tell{};
};

// How a trace's files are read.
struct TraceFormat {
    std::string_view name;
    std::string_view summary;   // its files
    bool has_traces;            // a folder has several traces, by name
    bool has_instances;         // tasks have instances, which may form a gang
    std::string_view left_out;  // parts of the trace that are ignored; empty: none
    Result<Workload> (*load)(const ReadFile& read, const TraceSource& source,
                             const TraceName& name);
};

std::span<const TraceFormat> trace_formats();
// not_found; the error lists the existing formats.
Result<const TraceFormat*> find_trace_format(std::string_view name);

// The names of the runs of these traces, each once; the format's name if the format is one trace.
std::vector<std::string> trace_names(const TraceSource& source,
                                     const std::vector<std::string>& traces);

// At least one node has a GPU. Errors: of the format, of reading its files, of make_gangs() and
// take_out(); invalid_argument if no node has a GPU, or no such node remains.
Result<Workload> load_source(const ReadFile& read, const TraceSource& source,
                             const TraceName& name);

}  // namespace tessera
