#include "simulator/program/sim_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <set>
#include <thread>

#include "adapters/os/text_file.hpp"
#include "programs/common/validators.hpp"
#include "wire/tessera/cluster_dump_json.hpp"

namespace tessera {

namespace {

// An option that has no effect on the format is an error.
Result<> check_format(const TraceFormat& format, const SourceText& text,
                      const TraceSource& source) {
    if (!format.has_traces && text.trace != nullptr && text.trace->count() > 0) {
        return fail(Code::invalid_argument,
                    fmt::format("--trace: {} is one trace; leave the option out", format.name));
    }
    if (!format.has_instances && source.together) {
        return fail(
            Code::invalid_argument,
            fmt::format("--together: {} has no tasks of several instances; leave the option out",
                        format.name));
    }
    return {};
}

}  // namespace

void add_jobs(CLI::App& command, int& threads, const std::string& what) {
    threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    command.add_option("-j,--jobs", threads, what + " at a time")
        ->transform(whole_number(1, 1024))
        ->capture_default_str();
}

void add_output(CLI::App& command, std::string& output) {
    command.add_option("-o,--output", output, "table, json or csv")
        ->check(CLI::IsMember({"table", "json", "csv"}))
        ->capture_default_str();
}

CLI::Validator order_seed() {
    return whole_number(0, std::numeric_limits<int>::max());
}

void add_sampling_seed(CLI::App& command, std::uint64_t& seed) {
    command.add_option("--sampling-seed", seed, "seed for policies that sample future tasks")
        ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
        ->capture_default_str();
}

std::string sim_exit_statuses() {
    return fmt::format(
        "Exit status: 0 success, {} wrong usage or invalid file, {} no such file or policy, {} a "
        "file or the output cannot be read or written or memory is exhausted, {} unsupported "
        "contents of the trace, {} the solver of bound failed.",
        exit_status(Code::invalid_argument), exit_status(Code::not_found),
        exit_status(Code::unavailable), exit_status(Code::unsupported),
        exit_status(Code::internal));
}

void add_source(CLI::App& command, TraceSource& source, SourceText& text) {
    std::string formats;
    for (const TraceFormat& format : trace_formats())
        formats += fmt::format("\n{}: {}", format.name, format.summary);
    command.add_option("--data", source.folder, "folder of the trace");
    command.add_option("--format", source.format, "how its files are read:" + formats)
        ->capture_default_str();
    command.add_option("--nodes", source.nodes,
                       "a list of nodes (sn,cpu_milli,memory_mib,gpu,model) that replaces the "
                       "trace's own, or for a trace without one");
    command.add_option("--gangs", text.gangs,
                       "\"10%x8\": 10 percent of the pods with GPUs each become a gang of 8 such "
                       "pods, placed all or none; the seed of the order of arrival selects them");
    command.add_flag("--together", source.together,
                     "pai2020: place the instances of a task as a gang; the trace does not say "
                     "which tasks needed that");
    command
        .add_option("--without", text.without,
                    "leave out these nodes, separated by commas: the name of a node, or \"20 T4\" "
                    "for 20 nodes of that model, which the seed of the order of arrival selects. "
                    "Percentages are of the remaining GPUs")
        ->delimiter(',');
}

void add_dump_file(CLI::App& command, SourceText& text, const std::string& help,
                   const std::vector<std::string>& others) {
    CLI::Option* dump = command.add_option(
        "--snapshot", text.dump,
        "a file of tessera snapshot in place of a trace; - is standard input. " + help);
    dump->check(file_name());
    for (const char* name : {"--data", "--format", "--nodes", "--gangs", "--together", "--without"})
        dump->excludes(command.get_option(name));
    for (const std::string& name : others)
        dump->excludes(command.get_option(name));
}

Result<> read_source(const SourceText& text, TraceSource& source) {
    if (source.folder.empty()) return fail(Code::invalid_argument, "--data: is missing");
    source.files = files_in(source.folder);
    const auto format = find_trace_format(source.format);
    if (!format) return fail(format.error().in("--format"));
    TRY_VOID(check_format(**format, text, source));
    for (const std::string& one : text.without) {
        auto fewer = read_fewer_nodes(one);
        if (!fewer) return fail(fewer.error().in("--without"));
        source.without.push_back(*std::move(fewer));
    }
    if (!text.gangs.empty()) {
        const auto gangs = read_gang_share(text.gangs);
        if (!gangs) return fail(gangs.error().in("--gangs"));
        source.gangs = *gangs;
    }
    // Several orders of one trace give the same lines; each is printed once.
    source.tell = [reported = std::set<std::string>()](const std::string& line) mutable {
        if (reported.insert(line).second) std::cerr << line << "\n";
    };
    if (const std::string_view left_out = (*format)->left_out; !left_out.empty())
        std::cerr << fmt::format("{}: not considered: {}\n", source.format, left_out);
    return {};
}

Result<ClusterDump> read_dump_file(const SourceText& text) {
    const bool is_input = text.dump == "-";
    TRY(const std::string json, read_text_file(is_input ? "/dev/stdin" : text.dump));
    auto dump = read_dump(json);
    if (!dump) return fail(dump.error().in(is_input ? "standard input" : text.dump));
    return dump;
}

}  // namespace tessera
