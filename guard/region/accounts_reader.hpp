// Reads a container's accounts without a process slot. It writes nothing, so the file may be
// read-only. The hooks of NVML use find_holders() in the container. The agent, which must not map
// the file, uses read_holders() (guard/arbiter/reading.hpp).
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Whether the file begins with the head of an accounts file of this layout. It is read and not
// mapped, because a tenant may truncate it.
bool begins_as_accounts(int accounts_fd);

// A live process of the container, and the memory that it holds of one GPU.
struct ProcessMemory {
    std::int32_t pid;  // as the process itself sees it
    AllocationUnits units;
};

// Finds the live processes that hold memory of the GPU; `gpu` is an index of Limits::gpus.
// `orphaned` becomes the memory that only descriptors hold, because its creator is dead. Returns
// the number of processes; -1 if the accounts cannot be read. Both results leave out what the
// accounts still charge to dead processes, and memory whose descriptors are all closed.
int find_holders(const char* accounts_path, int gpu, ProcessMemory (&holders)[kMaxProcesses],
                 AllocationUnits& orphaned);

}  // namespace tessera::guard
