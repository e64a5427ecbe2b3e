#include "domain/container_start/start_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/container_start/container_edits.hpp"
#include "domain/container_start/mount_conflicts.hpp"
#include "domain/container_start/runtime_support.hpp"

namespace tessera {
namespace {

// Images that are older than NVIDIA_VISIBLE_DEVICES set this variable, and get every GPU.
constexpr std::string_view kCudaVersion = "CUDA_VERSION";
// If so configured, NVIDIA's toolkit reads the names of the GPUs from mounts below this folder.
constexpr std::string_view kDevicesAsMounts = "/var/run/nvidia-container-devices";

bool names_no_gpu(std::string_view value) {
    return value.empty() || value == kVoidDevices || value == "none";
}

// The mount by which the container requests GPUs from NVIDIA's runtime; null if it has none.
const ContainerMount* devices_as_mounts(const ContainerSetup& setup) {
    const auto found = std::ranges::find_if(setup.mounts, [](const ContainerMount& mount) {
        return is_at_or_below(normalized_path(mount.destination), kDevicesAsMounts);
    });
    return found == setup.mounts.end() ? nullptr : &*found;
}

}  // namespace

Result<> check_setup(const ContainerSetup& setup, const StartRules& rules) {
    TRY_VOID(check_runtime_handler(setup.runtime_handler, rules.sandboxed_handlers));
    if (const ContainerMount* mount = devices_as_mounts(setup); mount != nullptr) {
        return fail(Code::invalid_argument,
                    fmt::format("container {} mounts {}, which asks NVIDIA's runtime for GPUs "
                                "beside its GPU share; remove the mount",
                                setup.name, mount->destination));
    }
    if (setup.is_privileged && rules.refuse_privileged) {
        return fail(Code::permission_denied,
                    fmt::format("container {} is privileged, so it could use every GPU of the "
                                "node; this cluster does not give GPU shares to privileged "
                                "containers (--privileged-containers=refuse): remove "
                                "securityContext.privileged",
                                setup.name));
    }
    return {};
}

Environment privileged_env(std::string_view uuids) {
    return {{std::string(kCudaVisibleDevices), std::string(uuids)}};
}

std::vector<std::string> values_of(std::span<const std::string> env, std::string_view name) {
    std::vector<std::string> values;
    for (const std::string& variable : env) {
        const std::size_t equals = variable.find('=');
        if (equals != std::string::npos && std::string_view(variable).substr(0, equals) == name)
            values.push_back(variable.substr(equals + 1));
    }
    return values;
}

bool names_specific_gpus(std::span<const std::string> env) {
    return std::ranges::any_of(values_of(env, kVisibleDevices), [](const std::string& value) {
        return !names_no_gpu(value) && value != "all";
    });
}

Result<Environment> environment_without_gpus(const ContainerSetup& setup,
                                             std::span<const std::string> env, std::string_view ns,
                                             const StartRules& rules) {
    if (rules.unrestricted_namespaces.contains(ns)) return Environment{};
    if (const ContainerMount* mount = devices_as_mounts(setup); mount != nullptr) {
        return fail(Code::invalid_argument,
                    fmt::format("container {} mounts {}, which asks NVIDIA's runtime for GPUs "
                                "without a GPU share; remove the mount, or ask for a share",
                                setup.name, mount->destination));
    }
    const auto visible = values_of(env, kVisibleDevices);
    // The runtime replaces only the first entry; the second would be used in the container.
    if (visible.size() > 1 && !std::ranges::all_of(visible, names_no_gpu)) {
        return fail(Code::invalid_argument,
                    fmt::format("container {} sets {} {} times; remove it from the pod", setup.name,
                                kVisibleDevices, visible.size()));
    }
    const bool is_asked = visible.empty() ? !values_of(env, kCudaVersion).empty()
                                          : !std::ranges::all_of(visible, names_no_gpu);
    if (!is_asked) return Environment{};
    return Environment{{std::string(kVisibleDevices), std::string(kVoidDevices)}};
}

}  // namespace tessera
