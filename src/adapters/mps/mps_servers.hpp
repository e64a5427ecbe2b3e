// The servers of a control daemon, by what their processes show: also of a daemon that has ended.
// They keep the GPU then, and no daemon reads or changes their limits any more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.hpp"

namespace tessera {

inline constexpr const char* kMpsControl = "nvidia-cuda-mps-control";
inline constexpr const char* kMpsPipesVariable = "CUDA_MPS_PIPE_DIRECTORY";

// The processes nvidia-cuda-mps-server of the node.
struct MpsServers {
    std::vector<pid_t> ours;     // their daemon has, or had, these pipes
    std::vector<pid_t> unknown;  // neither they nor their parent show which pipes they have
};
// unavailable if the processes cannot be listed.
Result<MpsServers> mps_servers_of(const std::filesystem::path& pipes);

// Kills ours, and waits up to 2 seconds until they are gone. Their clients get an error from the
// driver. unavailable names one that is left, or one that is unknown.
Result<> end_mps_servers(const std::filesystem::path& pipes);

// Whether the process is a control daemon, or its front end; also while it ends.
bool is_mps_control(std::int64_t pid);

}  // namespace tessera
