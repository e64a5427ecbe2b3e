// What the commands of tessera-sim have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/sim/trace_source.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// -j: so many `what` at a time; as many as there are cores unless it is given.
void add_jobs(CLI::App& command, int& threads, const std::string& what);
// -o: table, json or csv.
void add_output(CLI::App& command, std::string& output);

// For an option that names orders of arrival: a number, or several.
CLI::Validator order_seed();

// --sampling-seed.
void add_sampling_seed(CLI::App& command, std::uint64_t& seed);

// Of all commands, for their help.
std::string sim_exit_statuses();

// Of where nodes and tasks are from, what is yet to be read.
struct SourceText {
    std::vector<std::string> without;    // as read_fewer_nodes() takes them
    std::string gangs;                   // as read_gang_share() does; empty: none
    std::string snapshot;                // a file in place of a trace; empty: none
    const CLI::Option* trace = nullptr;  // the command's --trace
};

// --data, --format, --nodes, --gangs, --together, --without.
void add_source(CLI::App& command, TraceSource& source, SourceText& text);
// --snapshot, which the options of add_source() and `others` do not go with.
void add_snapshot_file(CLI::App& command, SourceText& text, const std::string& help,
                       const std::vector<std::string>& others);

// --trace of a command with one or several of them.
template <class Traces>
CLI::Option* add_trace(CLI::App& command, Traces& traces, SourceText& text,
                       const std::string& help) {
    CLI::Option* option = command.add_option("--trace", traces, help)->capture_default_str();
    text.trace = option;
    return option;
}

// Reads `text` into `source`; says on stderr what of the trace nobody looks at. Errors name the
// option.
Result<> read_source(const SourceText& text, TraceSource& source);
// Errors name the file.
Result<ClusterSnapshot> read_snapshot_file(const SourceText& text);

}  // namespace tessera
