#include "domain/mps/client_environment.hpp"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::string_view kVariables = "CUDA_MPS_";

}  // namespace

std::vector<std::pair<std::string, std::string>> mps_client_env(const MpsGrant& grant) {
    const MpsSettings settings = mps_settings_of(grant);
    // The container sees one GPU, so its number is 0. An entry for a GPU that is not there would
    // void the limit.
    return {
        {"CUDA_MPS_PIPE_DIRECTORY", std::string(kMpsPipesInContainer)},
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", settings.threads.value)},
        {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("0={}M", settings.memory.count / kMiB)}};
}

Result<> check_mps_env(std::string_view container, std::span<const std::string> env) {
    for (const std::string& variable : env) {
        if (!variable.starts_with(kVariables)) continue;
        return fail(
            Code::invalid_argument,
            fmt::format("container {} sets {}; Tessera sets the variables of NVIDIA MPS for "
                        "pods with tessera.dev/isolation: mps, so remove it from the pod "
                        "or the image",
                        container, variable.substr(0, variable.find('='))));
    }
    return {};
}

}  // namespace tessera
