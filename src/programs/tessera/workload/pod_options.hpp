// Options of the commands that make serving and training jobs, and what such a command records.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "base/result.hpp"
#include "domain/workload/pod_flags.hpp"
#include "programs/tessera/workload/wait_options.hpp"

namespace tessera {

// What a command that makes a job does with it.
struct CreateOptions {
    KubeConfigOptions kube;
    bool dry_run = false;
    std::string output = "yaml";            // of --dry-run
    std::vector<std::string> config_files;  // --config-file LOCAL[:PATH]
    WaitOptions wait;
};

// The flags about the job's pods, and the options of CreateOptions. The last value of a flag
// counts, except for lists.
void add_pod_options(CLI::App& command, workload::PodFlags& pod, CreateOptions& options);

// The flags that were given and that describe the job (domain/workload/recorded_flags.hpp).
std::vector<std::string> given_flags(const CLI::App& command);
// The command's names and its flags, for the job's record. invalid_argument if one is not UTF-8.
Result<std::vector<std::string>> recorded_arguments(const CLI::App& command,
                                                    std::vector<std::string> names);

// The texts of --config-file, each with the absolute path in the container.
std::vector<std::string> with_paths(const std::vector<std::string>& texts);

// Reads the local files of --config-file. Errors name the flag.
Result<std::vector<workload::File>> read_config_files(const std::vector<std::string>& texts);

// The connection of the command; --dry-run needs no cluster, and then there may be none.
Result<KubeConnection> connection_for(const CreateOptions& options);
// `given`, or else the namespace of the connection. invalid_argument if it is not a legal name.
Result<std::string> checked_namespace(const std::string& given, const KubeConnection& connection);

// Prints a line, or a warning.
void say(const std::string& line);
void warn(const std::string& line);
// Prints objects that are JSON text, as JSON or YAML.
void print_objects(const std::vector<std::string>& objects, const std::string& format);

}  // namespace tessera
