#include "programs/common/run_options.hpp"

#include <fmt/format.h>

#include "programs/common/command_line.hpp"
#include "programs/common/validators.hpp"

namespace tessera {
namespace {

// The guard counts memory in units of this size, so a smaller share has none.
constexpr Bytes kLeastMemory = mebibytes(2);
constexpr const char* kDefaultState = "/var/lib/tessera-run";

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
    command.add_option("--memory", options.memory, "memory of the share, such as 4Gi");
    command
        .add_option("--cores", options.cores,
                    "guaranteed percentage of the GPU's compute; 0: no guarantee")
        ->transform(whole_number(0, 100))
        ->capture_default_str();
    command
        .add_option("--compute-limit", options.cores_limit,
                    "maximum percentage of the GPU's compute")
        ->transform(whole_number(1, 100))
        ->capture_default_str();
    command.add_option("--gpu", options.gpu,
                       "index or UUID of the GPU; otherwise the one that it fits best");
    command.add_flag("--wait", options.waits, "wait until the share is free, instead of failing");
    command.add_flag("-q,--quiet", options.is_quiet, "print nothing but errors");
    command.add_flag("--list", options.lists, "list the runs of this machine, and what they use");
    command.add_option("-o,--output", options.output, "of the list: json")
        ->check(CLI::IsMember({"json"}));
    options.state = kDefaultState;
    command.add_option("--state", options.state, "folder that all runs of the machine share")
        ->envname("TESSERA_RUN_STATE")
        ->capture_default_str();
    command.add_option("--driver-root", options.driver_root, "root of the NVIDIA driver's files")
        ->envname("TESSERA_RUN_DRIVER_ROOT")
        ->capture_default_str();
    command
        .add_option("--guard-library", options.guard_library,
                    "libtessera-guard.so; otherwise the one beside tessera-run, or of the "
                    "installation")
        ->envname("TESSERA_RUN_GUARD_LIBRARY");
    command
        .add_option("--helper-folder", options.helper_folder,
                    "folder of the program tessera-run; otherwise that of tessera, or of the "
                    "installation")
        ->envname("TESSERA_RUN_HELPER_FOLDER");
    add_words(command, options.words, "the program and its arguments, after --");
}

Result<Bytes> run_memory(const RunOptions& options) {
    const auto bytes = parse_whole_quantity(options.memory);
    if (!bytes) return fail(bytes.error().in("--memory"));
    if (*bytes < kLeastMemory.count) {
        return fail(Code::invalid_argument,
                    fmt::format("--memory: \"{}\" is less than {}; write a unit, such as 4Gi",
                                options.memory, to_string(kLeastMemory)));
    }
    return Bytes{*bytes};
}

Result<> check_run_options(const RunOptions& options) {
    if (options.lists) {
        if (options.words.empty() && options.memory.empty()) return {};
        return fail(Code::invalid_argument,
                    "--list: starts no program; leave out the program and --memory");
    }
    if (!options.output.empty())
        return fail(Code::invalid_argument, "--output: is for --list only");
    if (options.memory.empty()) {
        return fail(Code::invalid_argument,
                    "--memory: missing; give the share's memory, such as --memory 4Gi");
    }
    if (options.words.empty()) {
        return fail(Code::invalid_argument,
                    "no program; write it after --, such as: tessera run --memory 4Gi -- python "
                    "train.py");
    }
    TRY_VOID(run_memory(options));
    if (options.cores > options.cores_limit) {
        return fail(Code::invalid_argument,
                    fmt::format("--compute-limit: {} is below --cores {}; raise it, or leave it "
                                "out",
                                options.cores_limit, options.cores));
    }
    return {};
}

std::vector<std::string> run_arguments(const RunOptions& options) {
    std::vector<std::string> out;
    const auto value = [&](const char* name, const std::string& text) {
        if (!text.empty()) out.push_back(fmt::format("{}={}", name, text));
    };
    const auto flag = [&](const char* name, bool is_set) {
        if (is_set) out.emplace_back(name);
    };
    value("--memory", options.memory);
    value("--cores", std::to_string(options.cores));
    value("--compute-limit", std::to_string(options.cores_limit));
    value("--gpu", options.gpu);
    flag("--wait", options.waits);
    flag("--quiet", options.is_quiet);
    flag("--list", options.lists);
    value("--output", options.output);
    value("--state", options.state);
    value("--driver-root", options.driver_root);
    value("--guard-library", options.guard_library);
    if (options.words.empty()) return out;
    out.emplace_back("--");
    out.insert(out.end(), options.words.begin(), options.words.end());
    return out;
}

}  // namespace tessera
