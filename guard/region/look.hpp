// The accounts as a program sees them that is not in the container. It takes no process slot and
// writes nothing, so it may have the file read-only.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Whether a file begins as accounts of this layout do. This reads the file and does not map it,
// because tenants write it.
bool begins_as_accounts(int accounts_fd);

// A live process of the container, and what it holds of a GPU.
struct Holder {
    std::int32_t pid;  // as the process itself sees it
    AllocationUnits units;
};

// Finds the processes that hold memory of the GPU. `nobodys` is the memory whose makers are dead
// and that only descriptors hold. Returns the number of processes; -1 if the accounts cannot be
// read. Neither result contains what dead processes still hold until a neighbour releases it, nor
// what only closed descriptors held.
int find_holders(const char* accounts_path, int gpu, Holder (&holders)[kMaxProcesses],
                 AllocationUnits& nobodys);

}  // namespace tessera::guard
