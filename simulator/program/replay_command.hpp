// `tessera-sim replay`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulator/program/sim_options.hpp"
#include "simulator/replay/plot.hpp"

namespace tessera {

struct ReplayCommand {
    SweepOptions sweep;
    SourceText source;
    std::string output = "table";
    std::string plot;  // a file; empty: none
    std::string plot_metric{kPlotMetrics[0].name};
    int plot_from = 80;
};

// Adds the options. `options` is filled in when they are parsed, and must live until then.
void add_replay_options(CLI::App& command, ReplayCommand& options);
// Returns the text to print, and writes the picture.
Result<std::string> run_replay(const ReplayCommand& command, const Progress& progress);

}  // namespace tessera
