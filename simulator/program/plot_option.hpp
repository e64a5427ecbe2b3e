// `--plot` of tessera-sim's commands: a picture in addition to the printed results.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "simulator/chart/chart.hpp"
#include "simulator/workload/workload.hpp"

namespace tessera {

// `path` stays empty if no picture is to be drawn. `what` describes the picture in the help.
CLI::Option* add_plot(CLI::App& command, std::string& path, const std::string& what);

// Checks before the runs that a picture can be drawn there. Errors name the option.
Result<> check_plot(const std::string& path);

// Reads files. Reading the file that the picture would overwrite is invalid_argument.
ReadFile reader_beside(const std::string& path);

// Errors name the option.
Result<> write_plot(const std::string& path, const Chart& chart);

}  // namespace tessera
