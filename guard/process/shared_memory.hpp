// What this process has exported, and what it has imported from other processes of its container:
// by IPC handles and by descriptors. Exported memory is charged while any process of the container
// has it (region/shared_memory.hpp). For that, an importer must identify the memory:
//
// - An IPC handle is opaque, but the bytes that are opened are the bytes that were exported.
// - A descriptor carries no identity. So its open file gets a name when it is exported
//   (named_descriptor.hpp). If that fails, its maker is charged until it ends.
//
// Memory that another container exports is charged there.
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/base/table.hpp"
#include "guard/process/holdings.hpp"
#include "guard/region/named_descriptor.hpp"

namespace tessera::guard {

// An IPC handle that is open.
struct OpenedAddress {
    std::uint64_t address;
    CUcontext context;
    int index;
    unsigned opened;  // how often; each one is a use of the memory
};

inline std::uint64_t key_of(const OpenedAddress& opened) {
    return opened.address;
}

// Zero at first, and again in a forked child.
struct SharedUse {
    pthread_mutex_t mutex;
    std::atomic<bool> has_opened;
    std::uint64_t last_name;
    Table<OpenedAddress> opened;
    unsigned imports[kMaxSharedMemory];  // imports of each entry of the region by this process
};

std::uint64_t key_of(const CUipcMemHandle& handle);

// The driver returned an IPC handle for the recorded memory at the address. False if the region has
// no free entry.
bool note_exported(CUdeviceptr pointer, std::uint64_t key);

// Adds a use of the memory with that key, before the driver is called; -1 if no process of the
// container has exported it.
int begin_import(std::uint64_t key);
void end_import(int index);
// Whether a process of the container has exported it; that process may have died since.
bool was_exported(std::uint64_t key);

// The use is at this address.
void note_opened(CUdeviceptr pointer, CUcontext context, int index);
// Removes the record of one use before the driver closes it: the address may be used again at once.
// The use counts until end_import(). Address 0 if nothing was recorded.
OpenedAddress take_opened(CUdeviceptr pointer);
// The use was not closed after all.
void put_opened_back(const OpenedAddress& taken);
void forget_opened_in(CUcontext context);
// It would be closed with another context from now on.
void pass_on_opened_in(CUcontext from, CUcontext to);

// Gives a name to a descriptor of memory that this process is charged for, and adds an entry to the
// region. -1 if the region has no free entry.
int share_descriptor(int fd, int gpu, AllocationUnits units);
// One more descriptor of the same memory.
void name_again(int fd, int index, AllocationUnits units);
// This process, its maker, has released it. It stays charged while other processes have it, or
// while a descriptor is open.
void end_export(int index);
// For memory of the container that no process of it is charged for any more. This process has
// reserved it, and is charged for it now; it releases the reservation if another process has
// adopted the memory first. -1 if the region has no free entry. `fd` has the name; -1 for an IPC
// handle.
int adopt(const DescriptorName& name, int gpu, int fd);
// Whether the name was chosen in this container.
bool is_ours(const DescriptorName& name);

}  // namespace tessera::guard
