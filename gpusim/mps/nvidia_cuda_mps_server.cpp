// nvidia-cuda-mps-server: a simulated MPS server. Only nvidia-cuda-mps-control starts it. It ends
// with status 1 if it sees no simulated GPU, and with 0 if it cannot reach the daemon's socket,
// as the vendor's does. It lives until the daemon closes its channel (server_process.hpp).
#include <libgen.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "gpusim/mps/log.hpp"
#include "gpusim/mps/server_process.hpp"
#include "gpusim/mps/wire.hpp"
#include "gpusim/state/visible.hpp"

namespace {

using gpusim::mps::MpsPath;
using gpusim::mps::path_in;

bool open_in(gpusim::State& state, const char* directory) {
    return open_state(state, directory, gpusim::Access::read_only) == gpusim::OpenResult::ok;
}

// $GPUSIM_DIR, or what belongs to this program's driver root.
bool open_driver(gpusim::State& state) {
    const char* directory = std::getenv("GPUSIM_DIR");
    if (directory != nullptr) return open_in(state, directory);
    MpsPath self;
    if (readlink("/proc/self/exe", self.text, sizeof self.text - 1) <= 0) return false;
    const char* folder = dirname(self.text);
    return open_in(state, path_in(folder, "../lib/x86_64-linux-gnu/gpusim").text) ||
           open_in(state, path_in(folder, "gpusim").text);
}

int visible_gpus() {
    static gpusim::State state;
    if (!open_driver(state)) return 0;
    const gpusim::GpuList present =
        gpusim::present_gpus(state, std::getenv("NVIDIA_VISIBLE_DEVICES"));
    return gpusim::cuda_gpus(state, present, std::getenv("CUDA_VISIBLE_DEVICES")).count;
}

}  // namespace

int main() {
    const gpusim::mps::Log log{STDOUT_FILENO, "Other"};
    const MpsPath control = path_in(gpusim::mps::pipe_directory(), gpusim::mps::kControl);
    if (access(control.text, W_OK) != 0) return 0;
    log.line("Startup");
    log.line("Connecting to control daemon on socket: %s", control.text);
    log.line("Initializing server process");
    const int gpus = visible_gpus();
    if (gpus == 0) {
        log.line("Driver initialization failed with: no CUDA-capable device is detected");
        log.line("Failed to start : no CUDA-capable device is detected");
        return 1;
    }
    const auto gpus_plus_one = static_cast<unsigned char>(gpus + 1);
    if (!gpusim::mps::send_all(gpusim::mps::kServerChannel, &gpus_plus_one, 1)) return 1;
    char byte = 0;
    gpusim::mps::receive_all(gpusim::mps::kServerChannel, &byte, 1);
    return 0;
}
