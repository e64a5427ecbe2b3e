// `tessera-sim replay`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/sim/plot.hpp"
#include "programs/sim_options.hpp"

namespace tessera {

struct ReplayCommand {
    SweepOptions sweep;
    SourceText source;
    std::string output = "table";
    std::string plot;  // a file; empty: none
    std::string figure{kPlotFigures[0].name};
    int plot_from = 80;
};

// `command` is filled in when the program's arguments are read, and outlives that.
CLI::App* add_replay(CLI::App& app, ReplayCommand& command);
// What is to be printed; writes the picture.
Result<std::string> run_replay(const ReplayCommand& command, const Progress& progress);

}  // namespace tessera
