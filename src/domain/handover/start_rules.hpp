// Which containers may start with a GPU share, and which GPUs a container without one may see.
// Pure. Both ways to identify a container use these rules.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "domain/handover/container_setup.hpp"

namespace tessera {

// An administrator's settings for a node.
struct StartRules {
    // Runtime handlers that inject GPUs by NVIDIA_VISIBLE_DEVICES; "default" is the default
    // handler.
    std::vector<std::string> environment_handlers;
    // Namespaces whose containers may see GPUs that they did not request: monitoring agents.
    std::set<std::string, std::less<>> unrestricted_namespaces;
    // Folders of the node from which a pod may mount its own list of libraries to preload.
    std::vector<std::string> preload_merge_from;
    bool refuse_privileged = false;
    // Runtime handlers whose containers have their own kernel: gVisor, libkrun, Kata. Each is a
    // prefix of a name.
    std::vector<std::string> sandboxed_handlers = {"gvisor", "runsc", "krun", "kata"};
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Whether this container may start with a GPU share of any size. Errors: unsupported or
// permission_denied, with the fix.
Result<> check_setup(const ContainerSetup& setup, const StartRules& rules);

// The variable that makes CUDA use exactly these GPUs in a privileged container, which has all
// device files of the node. `uuids` as in NVIDIA_VISIBLE_DEVICES.
Environment privileged_env(std::string_view uuids);

// For a container that requested no GPU: the environment that prevents NVIDIA's runtime from
// injecting GPUs, if the container's `env` ("NAME=value" each) or mounts ask for some.
// invalid_argument if this cannot be prevented.
Result<Environment> environment_without_gpus(const ContainerSetup& setup,
                                             std::span<const std::string> env, std::string_view ns,
                                             const StartRules& rules);

// Whether `env` asks for GPUs by names or numbers, not for all or none.
bool names_single_gpus(std::span<const std::string> env);

// The values that `env` has for `name`, in order.
std::vector<std::string> values_of(std::span<const std::string> env, std::string_view name);

}  // namespace tessera
