// This process as a client of an MPS server. cuInit connects to the control daemon, as the real
// driver does, and the connection lasts as long as the process. A process without a daemon pays one
// failed connect() and nothing later. All functions require a Session, except connect_to_mps() and
// disconnect_from_mps(), which require the driver's mutex. A fork child disconnects (driver.cpp).
#pragma once

#include <cstdint>

#include "api/nvidia/cuda.h"
#include "gpusim/state/visible.hpp"

namespace gpusim {

struct Context;

struct MpsClient {
    int fd;                // -1: no connection
    std::uint64_t server;  // Slot::mps_server; 0: this process is no client
    CUresult error;        // of every context from now on, once it is not CUDA_SUCCESS
    GpuList gpus;          // the server's, by its ordinals
    std::uint32_t contexts_total;
    double active_thread_percentage;             // what the server and the environment allow
    std::uint64_t pinned_limit_bytes[kMaxGpus];  // by GPU of the node; 0: no limit
};

// Waits until a server takes this process; without a daemon it does nothing. The errors are those
// of a client that is refused, CUDA_ERROR_MPS_CONNECTION_FAILED and others.
CUresult connect_to_mps();
void disconnect_from_mps();

// Those of `present` that the server has, in the server's order; without MPS, `present`.
GpuList gpus_of_mps(const GpuList& present);

// Lowers the server's limits to those of the environment. Call it when the devices are known.
void read_mps_environment();

// How many multiprocessors of the GPU this process has: without MPS all.
unsigned multiprocessors_of(int gpu);

// Sends the reports that had to wait. Ends this client if the server or the daemon has ended it:
// all its contexts get the error.
void check_mps();

void report_context_made(Context& context);
void report_context_ended(const Context& context);
// A kernel's fault ends all clients of the server that share the GPU.
void report_fault(const Context& context, CUresult error);

}  // namespace gpusim
