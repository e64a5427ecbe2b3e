// Which processes a GPU's compute mode admits, and the MPS servers that count as one process with
// their clients. Source: nvmlComputeMode_t, and NVIDIA's MPS manual.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

// Whether the owner of `slot` may make a context on the GPU. Exclusive: if no other process has
// one there. For a client of MPS: if its server has one there, and no other process but clients of
// that server. What was a client of a server that is dead does not count. Call it under the
// decision lock.
bool is_admitted(const State& state, int gpu, int slot);

// Makes the owner of `slot` an MPS server, and returns the server's number, which is never given
// twice. Call it under the decision lock.
std::uint64_t become_mps_server(const State& state, int slot);

// Whether the owner of `slot` is a client of an MPS server.
bool is_mps_client(const State& state, int slot);

// Marks the process `pid` as ended, if it is a client of `server` and has this slot. Call it under
// the decision lock.
void end_mps_client(const State& state, std::uint64_t server, int slot, pid_t pid);

// Whether no process has `slot`, or a client that was ended, or whose server is dead.
bool is_over(const State& state, int slot);

}  // namespace gpusim
