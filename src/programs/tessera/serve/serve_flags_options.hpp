// The options of the commands that make serving jobs, and the arguments that such a command
// records.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "adapters/kube/kubeconfig.hpp"
#include "base/result.hpp"
#include "domain/workload/serve_flags.hpp"

namespace tessera {

// What a command that makes a serving job does with it.
struct CreateOptions {
    KubeConfigOptions kube;
    bool dry_run = false;
    std::string output = "yaml";            // of --dry-run
    std::vector<std::string> config_files;  // --config-file LOCAL[:PATH]
};

// The flags that the kinds of servers share. The last value of a flag counts, except for lists.
void add_serve_flags(CLI::App& command, workload::ServeFlags& flags, CreateOptions& options);
void add_tensorflow_flags(CLI::App& command, workload::TensorflowFlags& flags);
void add_triton_flags(CLI::App& command, workload::TritonFlags& flags);
void add_custom_flags(CLI::App& command, workload::CustomFlags& flags);

// The flags that were given and that describe the job, each as --NAME=VALUE, and words after "--".
std::vector<std::string> given_flags(const CLI::App& command);

// `earlier` without the flags that `later` replaces, and then `later`: whole GPUs replace a share,
// and a share replaces them.
std::vector<std::string> merged_flags(const std::vector<std::string>& earlier,
                                      const std::vector<std::string>& later);

// Reads the local files of --config-file. Errors name the flag.
Result<std::vector<workload::File>> read_config_files(const std::vector<std::string>& texts);

}  // namespace tessera
