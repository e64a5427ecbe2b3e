// The flags of `tessera serve` about the pod, and their meaning. They are Arena's
// (docs/research/arena.md §2.1).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "domain/workload/pod_template.hpp"

namespace tessera::workload {

// As on the command line. Lists are flags that may be repeated.
struct PodFlags {
    std::string image;
    std::string image_pull_policy = "IfNotPresent";
    std::vector<std::string> image_pull_secrets;
    GpuFlags gpu;
    std::vector<std::string> devices;  // --device RESOURCE=AMOUNT
    std::string cpu;
    std::string memory;
    std::string share_memory;
    std::vector<std::string> env;                // NAME=VALUE
    std::vector<std::string> env_from_secret;    // NAME=SECRET
    std::vector<std::string> data;               // CLAIM:/path
    std::vector<std::string> data_subpath_expr;  // CLAIM:EXPRESSION
    std::vector<std::string> data_dir;           // /on/node[:/in/container]
    std::vector<std::string> temp_dir;           // NAME:/path
    std::vector<std::string> annotations;        // KEY=VALUE
    std::vector<std::string> labels;             // KEY=VALUE
    std::vector<std::string> selectors;          // KEY=VALUE
    std::vector<std::string> tolerations;        // see parse_toleration
    std::string shell = "sh";
    std::string command;
    // The content of local files and where they go, read by the caller.
    std::vector<File> files;
};

// A pod template with everything but what a kind of server adds: its command, ports and probes.
// `default_image` counts if --image is missing. invalid_argument names the flag and the fix.
Result<PodTemplate> read_pod_flags(const PodFlags& flags, std::string_view default_image);

// An empty text is accepted.
Result<> check_quantity(std::string_view flag, const std::string& text);

// "KEY=VALUE", of which the value may be empty and may have more "=".
Result<std::pair<std::string, std::string>> parse_pair(std::string_view flag,
                                                       std::string_view text);
// "all", or KEY[=VALUE][:EFFECT][,OPERATOR] (Arena: key=value:effect,operator).
Result<Toleration> parse_toleration(std::string_view text);

}  // namespace tessera::workload
