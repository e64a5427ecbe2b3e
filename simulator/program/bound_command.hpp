// `tessera-sim bound`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulator/bound/bounds.hpp"
#include "simulator/program/sim_options.hpp"

namespace tessera {

struct BoundCommand {
    BoundOptions bounds;
    SourceText source;
    std::string output = "table";
};

// Adds the options. `options` is filled in when they are parsed, and must live until then.
void add_bound_options(CLI::App& command, BoundCommand& options);
// Returns the text to print.
Result<std::string> run_bound(const BoundCommand& command, const Progress& progress);

}  // namespace tessera
