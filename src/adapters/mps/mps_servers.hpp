// The servers of a control daemon that has ended. They keep the GPU, and no daemon reads or changes
// their limits any more.
#pragma once

#include <filesystem>

namespace tessera {

// Kills each process nvidia-cuda-mps-server whose daemon had these pipes, and waits some seconds
// until they are gone. Their clients get an error from the driver.
void end_mps_servers(const std::filesystem::path& pipes);

}  // namespace tessera
