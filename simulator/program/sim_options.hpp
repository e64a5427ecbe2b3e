// What the commands of tessera-sim have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "domain/dump/cluster_dump.hpp"
#include "simulator/workload/trace_source.hpp"

namespace tessera {

// -j: number of `what` that run at a time; the default is the number of CPU cores.
void add_jobs(CLI::App& command, int& threads, const std::string& what);
// -o: table, json or csv.
void add_output(CLI::App& command, std::string& output);

// For an option that names orders of arrival: one number, or several.
CLI::Validator order_seed();

// --sampling-seed.
void add_sampling_seed(CLI::App& command, std::uint64_t& seed);

// The exit statuses of all commands, for their help.
std::string sim_exit_statuses();

// The source of nodes and tasks, as texts that are not parsed yet.
struct SourceText {
    std::vector<std::string> without;    // format: read_fewer_nodes()
    std::string gangs;                   // format: read_gang_share(); empty: none
    std::string dump;                    // a snapshot file in place of a trace; empty: none
    const CLI::Option* trace = nullptr;  // the command's --trace
};

// --data, --format, --nodes, --gangs, --together, --without.
void add_source(CLI::App& command, TraceSource& source, SourceText& text);
// --snapshot, which excludes the options of add_source() and `others`.
void add_dump_file(CLI::App& command, SourceText& text, const std::string& help,
                   const std::vector<std::string>& others);

// --trace, for a command that takes one trace or several.
template <class Traces>
CLI::Option* add_trace(CLI::App& command, Traces& traces, SourceText& text,
                       const std::string& help) {
    CLI::Option* option = command.add_option("--trace", traces, help)->capture_default_str();
    text.trace = option;
    return option;
}

// Parses `text` into `source`. Says on stderr which parts of the trace are not considered. Errors
// name the option.
Result<> read_source(const SourceText& text, TraceSource& source);
// Errors name the file.
Result<ClusterDump> read_dump_file(const SourceText& text);

}  // namespace tessera
