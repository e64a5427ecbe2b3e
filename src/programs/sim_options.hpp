// What the commands of tessera-sim have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tessera {

// -j: so many `what` at a time; as many as there are cores unless it is given.
void add_jobs(CLI::App& command, int& threads, const std::string& what);
// -o: table, json or csv.
void add_output(CLI::App& command, std::string& output);

}  // namespace tessera
