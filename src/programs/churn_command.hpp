// `tessera-sim churn`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/sim/churn_sweep.hpp"
#include "programs/sim_options.hpp"

namespace tessera {

struct ChurnCommand {
    ChurnSweepOptions churn;
    SourceText source;
    std::vector<std::string> loads{"80", "90", "100"};  // or kAsRecordedText
    std::string plot;                                   // a file; empty: none
    // Of MoveRules. Nothing: nobody is moved, and all work is lost.
    std::optional<double> defrag_after_s;
    std::optional<double> checkpoint_s;
    std::size_t most_moves = 8;
    std::string output = "table";
};

// `command` is filled in when the program's arguments are read, and outlives that.
CLI::App* add_churn(CLI::App& app, ChurnCommand& command);
// What is to be printed.
Result<std::string> run_churn(const ChurnCommand& command, const Progress& progress);

}  // namespace tessera
