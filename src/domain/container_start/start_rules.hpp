// Which containers may start with a GPU share, and which GPUs a container without one may see.
// Pure. check_setup() applies with --identity nri and kubelet, environment_without_gpus() only with
// nri.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "domain/container_start/container_setup.hpp"

namespace tessera {

// An administrator's settings for a node.
struct StartRules {
    // Runtime handlers that inject GPUs by NVIDIA_VISIBLE_DEVICES; "default" is the default
    // handler.
    std::vector<std::string> environment_handlers;
    // Namespaces whose containers may see GPUs that they did not request: monitoring agents.
    std::set<std::string, std::less<>> unrestricted_namespaces;
    // Folders of the node from which a pod may mount its own /etc/ld.so.preload.
    std::vector<std::string> preload_merge_from;
    bool refuse_privileged = false;
    // Runtime handlers whose containers have their own kernel: gVisor, libkrun, Kata. An entry
    // matches every handler whose name begins with it.
    std::vector<std::string> sandboxed_handlers = {"gvisor", "runsc", "krun", "kata"};
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Whether this container may start with a GPU share, whatever the share's size. Errors:
// unsupported, invalid_argument or permission_denied, with the fix.
Result<> check_setup(const ContainerSetup& setup, const StartRules& rules);

// The variable that makes CUDA use exactly these GPUs in a privileged container, which has all
// device files of the node. `uuids` is comma-separated, as in NVIDIA_VISIBLE_DEVICES.
Environment privileged_env(std::string_view uuids);

// For a container that requested no GPU: the variables to set so that NVIDIA's runtime injects
// none. Empty if the container's `env` ("NAME=value" each) does not ask for GPUs, or if `ns` is an
// unrestricted namespace. invalid_argument if a variable cannot prevent the injection: the
// container asks for GPUs by a mount, or sets NVIDIA_VISIBLE_DEVICES twice.
Result<Environment> environment_without_gpus(const ContainerSetup& setup,
                                             std::span<const std::string> env, std::string_view ns,
                                             const StartRules& rules);

// Whether NVIDIA_VISIBLE_DEVICES lists GPUs by UUID or index, instead of all or none.
bool names_specific_gpus(std::span<const std::string> env);

// The values that `env` has for `name`, in order.
std::vector<std::string> values_of(std::span<const std::string> env, std::string_view name);

}  // namespace tessera
