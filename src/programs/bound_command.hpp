// `tessera-sim bound`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/sim/bounds.hpp"
#include "programs/sim_options.hpp"

namespace tessera {

struct BoundCommand {
    BoundOptions bounds;
    SourceText source;
    std::string output = "table";
};

// `command` is filled in when the program's arguments are read, and outlives that.
CLI::App* add_bound(CLI::App& app, BoundCommand& command);
// What is to be printed.
Result<std::string> run_bound(const BoundCommand& command, const Progress& progress);

}  // namespace tessera
