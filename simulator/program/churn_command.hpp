// `tessera-sim churn`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "simulator/churn/churn_sweep.hpp"
#include "simulator/program/sim_options.hpp"

namespace tessera {

struct ChurnCommand {
    ChurnSweepOptions churn;
    SourceText source;
    std::vector<std::string> loads{"80", "90", "100"};  // or kAsRecordedText
    std::string plot;                                   // a file; empty: none
    // For MoveRules. Without defrag_after_s no task is moved; without checkpoint_s a moved task
    // loses all of its work.
    std::optional<double> defrag_after_s;
    std::optional<double> checkpoint_s;
    std::size_t most_moves = 8;
    std::string output = "table";
};

// Adds the options. `options` is filled in when they are parsed, and must live until then.
void add_churn_options(CLI::App& command, ChurnCommand& options);
// Returns the text to print.
Result<std::string> run_churn(const ChurnCommand& command, const Progress& progress);

}  // namespace tessera
