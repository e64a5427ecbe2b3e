// The options of `tessera run`, which `tessera` checks and `tessera-run` carries out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera {

struct RunOptions {
    std::string memory;
    int cores = 0;          // 0: no guarantee
    int cores_limit = 100;  // 100: no limit
    std::string gpu;
    bool waits = false;
    bool is_quiet = false;
    bool lists = false;
    std::string output;  // of the list; empty: a table
    std::string state;
    std::string driver_root = "/";
    std::string guard_library;       // empty: looked for
    std::string helper_folder;       // of tessera-run; empty: looked for
    std::vector<std::string> words;  // the program and its arguments
};

void add_run_options(CLI::App& command, RunOptions& options);

// What the options say together: --list, or --memory and a program. invalid_argument.
Result<> check_run_options(const RunOptions& options);
// The bytes of --memory. invalid_argument.
Result<Bytes> run_memory(const RunOptions& options);

// Command-line arguments that are parsed to the same options.
std::vector<std::string> run_arguments(const RunOptions& options);

}  // namespace tessera
