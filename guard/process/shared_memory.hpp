// What this process has exported, and what it has imported from others of its container: by IPC
// handles, and by descriptors. Exported memory is charged as long as any of the container has it
// (region/shared_memory.hpp). For that an importer must find which it is:
//
// - An IPC handle is opaque, but the bytes that are opened are those that were given.
// - A descriptor says nothing. So its open file is given a name when it is given away
//   (named_descriptor.hpp). Where that fails, its maker is charged until he ends.
//
// What another container exports counts there.
//
// Any thread. All want begin() to have succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/holdings.hpp"
#include "guard/process/table.hpp"
#include "guard/region/named_descriptor.hpp"

namespace tessera::guard {

// An IPC handle that is open.
struct OpenedAddress {
    std::uint64_t address;
    CUcontext context;
    int index;
    unsigned opened;  // how often: each is a use of the memory
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
    unsigned imports[kMaxSharedMemory];  // of each entry of the region, by this process
};

std::uint64_t key_of(const CUipcMemHandle& handle);

// An IPC handle was given of what is noted at the address. False where the region has no place.
bool note_exported(CUdeviceptr pointer, std::uint64_t key);

// One more use of the memory of that name, before the driver is asked for it; -1: none of the
// container.
int begin_import(std::uint64_t key);
void end_import(int index);
// Whether somebody of the container has given it, who may have died since.
bool was_exported(std::uint64_t key);

// The use is at this address.
void note_opened(CUdeviceptr pointer, CUcontext context, int index);
// Takes a note of one use out, before the driver closes it: the address may be another's at once.
// The use counts still, until end_import(). Address 0 where nothing was noted.
OpenedAddress take_opened(CUdeviceptr pointer);
// It was not closed after all.
void put_opened_back(const OpenedAddress& taken);
void forget_opened_in(CUcontext context);
// It would be closed with another context from now on.
void pass_on_opened_in(CUcontext from, CUcontext to);

// Gives a descriptor of memory that this process is charged for a name, and the region its entry.
// -1 where that has no place for it.
int share_descriptor(int fd, int card, Granules granules);
// One more descriptor of it.
void name_again(int fd, int index, Granules granules);
// This process, its maker, has let go of it: charged still while others have it, or a descriptor
// is open.
void end_export(int index);
// Memory of the container that nobody of it was charged for any more; this process has set it
// aside, and is charged for it now, or gives that back where another has adopted it first. -1 where
// the region has no place. `fd` has the name; -1: it is of an IPC handle.
int adopt(const DescriptorName& name, int card, int fd);
// Whether it is of this container.
bool is_ours(const DescriptorName& name);

}  // namespace tessera::guard
