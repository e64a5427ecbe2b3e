// The options of the commands that make serving jobs, and the arguments that such a command
// records.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "domain/serving/serve_flags.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {

// The flags that the kinds of servers share. The last value of a flag counts, except for lists.
void add_serve_flags(CLI::App& command, workload::ServeFlags& flags, CreateOptions& options);
void add_tensorflow_flags(CLI::App& command, workload::TensorflowFlags& flags);
void add_triton_flags(CLI::App& command, workload::TritonFlags& flags);
void add_custom_flags(CLI::App& command, workload::CustomFlags& flags);

}  // namespace tessera
