// nvidia-cuda-mps-server: a simulated MPS server. Only nvidia-cuda-mps-control starts it. It ends
// with status 1 if it sees no simulated GPU, or none that admits it, and with 0 if it cannot reach
// the daemon's socket, as the vendor's does. It holds a context on each GPU that it sees and that
// admits it, so that a GPU of exclusive mode is its own. It lives until the daemon closes its
// channel (server_process.hpp).
#include <libgen.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "gpusim/mps/log.hpp"
#include "gpusim/mps/server_process.hpp"
#include "gpusim/mps/wire.hpp"
#include "gpusim/state/compute_mode.hpp"
#include "gpusim/state/visible.hpp"

namespace {

using gpusim::OpenResult;
using gpusim::mps::MpsPath;
using gpusim::mps::path_in;

OpenResult open_in(gpusim::State& state, const char* directory) {
    return open_state(state, directory, gpusim::Access::read_write);
}

// $GPUSIM_DIR, or what belongs to this program's driver root.
OpenResult open_driver(gpusim::State& state) {
    const char* directory = std::getenv("GPUSIM_DIR");
    if (directory != nullptr) return open_in(state, directory);
    MpsPath self;
    if (readlink("/proc/self/exe", self.text, sizeof self.text - 1) <= 0) return OpenResult::absent;
    const char* folder = dirname(self.text);
    const OpenResult opened =
        open_in(state, path_in(folder, "../lib/x86_64-linux-gnu/gpusim").text);
    return opened == OpenResult::absent ? open_in(state, path_in(folder, "gpusim").text) : opened;
}

gpusim::GpuList visible_gpus(const gpusim::State& state) {
    const gpusim::GpuList present =
        gpusim::present_gpus(state, std::getenv("NVIDIA_VISIBLE_DEVICES"));
    return gpusim::cuda_gpus(state, present, std::getenv("CUDA_VISIBLE_DEVICES"));
}

// What a server's context takes: 66 MiB on an H100 (docs/research/mps-580.md), and no more than
// other contexts of this GPU.
std::uint64_t context_bytes(const gpusim::Gpu& gpu) {
    constexpr std::uint64_t kMost = std::uint64_t{66} << 20;
    return gpu.context_overhead_bytes < kMost ? gpu.context_overhead_bytes : kMost;
}

// Under the decision lock. False for a GPU that does not admit the server, or is full: its
// exclusive mode then admits no client of the server.
bool hold(gpusim::State& state, int gpu, int slot) {
    const gpusim::Gpu& on = state.file->gpus[gpu];
    const std::uint64_t used = gpusim::used_bytes(state, gpu);
    const std::uint64_t bytes = context_bytes(on);
    if (!gpusim::is_admitted(state, gpu, slot)) return false;
    if (used > gpusim::capacity_bytes(on) || bytes > gpusim::capacity_bytes(on) - used)
        return false;
    state.file->slots[slot].bytes[gpu].store(bytes);
    state.file->slots[slot].contexts[gpu].store(1);
    return true;
}

// False if the node has no slot left, or the server could hold no GPU.
bool become_server(gpusim::State& state, const gpusim::GpuList& gpus,
                   gpusim::mps::ServerReady& ready) {
    if (!gpusim::lock_byte(state.locks_fd, gpusim::kDecisionLock)) return false;
    const int slot = gpusim::claim_slot(state);
    bool holds_any = false;
    if (slot >= 0) {
        ready.state_id = state.file->id;
        ready.number = gpusim::become_mps_server(state, slot);
        for (int i = 0; i < gpus.count && i < gpusim::mps::kMaxDevices; i++) {
            holds_any |= hold(state, gpus.gpus[i], slot);
            ready.gpus.gpus[ready.gpus.count++] = static_cast<std::uint32_t>(gpus.gpus[i]);
        }
    }
    gpusim::unlock_byte(state.locks_fd, gpusim::kDecisionLock);
    return holds_any;
}

void end_client(const gpusim::State& state, std::uint64_t server,
                const gpusim::mps::EndedClient& client) {
    if (!gpusim::lock_byte(state.locks_fd, gpusim::kDecisionLock)) return;
    gpusim::end_mps_client(state, server, client.slot, client.pid);
    gpusim::unlock_byte(state.locks_fd, gpusim::kDecisionLock);
}

}  // namespace

int main() {
    const gpusim::mps::Log log{STDOUT_FILENO, "Other"};
    const MpsPath control = path_in(gpusim::mps::pipe_directory(), gpusim::mps::kControl);
    if (access(control.text, W_OK) != 0) return 0;
    log.line("Startup");
    log.line("Connecting to control daemon on socket: %s", control.text);
    log.line("Initializing server process");
    static gpusim::State state;
    const OpenResult opened = open_driver(state);
    if (opened == OpenResult::not_permitted) {
        log.line(
            "Failed to start : the simulated driver's state is read-only; mount its folder "
            "gpusim writable");
        return 1;
    }
    const gpusim::GpuList gpus = opened == OpenResult::ok ? visible_gpus(state) : gpusim::GpuList{};
    if (gpus.count == 0) {
        log.line("Driver initialization failed with: no CUDA-capable device is detected");
        log.line("Failed to start : no CUDA-capable device is detected");
        return 1;
    }
    gpusim::mps::ServerReady ready;
    if (!become_server(state, gpus, ready)) {
        log.line("Failed to start : CUDA-capable device(s) is/are busy or unavailable");
        return 1;
    }
    for (std::uint32_t i = 0; i < ready.gpus.count; i++) {
        const gpusim::Gpu& gpu = state.file->gpus[ready.gpus.gpus[i]];
        log.line("Device %s (uuid %s) is associated", gpu.model, gpu.uuid);
    }
    if (!gpusim::mps::send_all(gpusim::mps::kServerChannel, &ready, sizeof ready)) return 1;
    gpusim::mps::EndedClient ended;
    while (gpusim::mps::receive_all(gpusim::mps::kServerChannel, &ended, sizeof ended)) {
        if (ended.is_culprit != 0) {
            log.line("Server is handling a fatal GPU error.");
            log.line("Client process %d encountered a fatal GPU error.", ended.pid);
        }
        end_client(state, ready.number, ended);
    }
    return 0;
}
