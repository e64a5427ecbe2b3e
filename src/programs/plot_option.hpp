// `--plot` of tessera-sim's commands: a picture beside what is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/sim/workload.hpp"
#include "ports/chart.hpp"

namespace tessera {

// `path` stays empty where there is no picture to draw. `what` it shows, for the help.
CLI::Option* add_plot(CLI::App& command, std::string& path, const std::string& what);

// Whether a picture can be drawn there, for before the runs. Errors name the option.
Result<> check_plot(const std::string& path);

// Reads files; the one that the picture would be written over is invalid_argument.
ReadFile reader_beside(const std::string& path);

// Errors name the option.
Result<> write_plot(const std::string& path, const Chart& chart);

}  // namespace tessera
