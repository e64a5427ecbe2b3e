// `tessera-sim churn`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/sim/churn_sweep.hpp"
#include "programs/sim_options.hpp"

namespace tessera {

struct ChurnCommand {
    ChurnSweepOptions churn;
    SourceText source;
    std::string output = "table";
};

// `command` is filled in when the program's arguments are read, and outlives that.
CLI::App* add_churn(CLI::App& app, ChurnCommand& command);
// What is to be printed.
Result<std::string> run_churn(const ChurnCommand& command, const Progress& progress);

}  // namespace tessera
