// Physical memory that this process has created (cuMemCreate). The GPU gets it back when no handle
// and no mapping of it is left, and it is charged until then. It does not end with a context.
//
// Memory that was exported, or imported from other processes of the container, is charged to one of
// the processes that have it. It also stays charged while a descriptor of it is open
// (shared_memory.hpp). Memory that another container exports is charged there, and is not recorded
// here.
//
// Each function but the first makes the driver call and returns its result. The calls that do not
// wait for the GPU are made under the mutex, so that the accounts change in the order of the calls.
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include <pthread.h>

#include "guard/base/locked.hpp"
#include "guard/base/table.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/shared_memory.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

using PhysicalHandle = CUmemGenericAllocationHandle;

struct Physical {
    PhysicalHandle handle;
    std::uint64_t serial;  // unique in this process, also when the handle is used again
    std::uint64_t bytes;
    int gpu;
    unsigned handles;  // how often cuMemRelease may be called
    unsigned mappings;
    bool is_shared;  // an entry of the region says which process is charged
    bool is_imported;
    int index;  // of that entry
};

struct Mapping {
    std::uint64_t address;
    std::uint64_t bytes;
    PhysicalHandle handle;
    std::uint64_t serial;
};

inline std::uint64_t key_of(const Physical& physical) {
    return physical.handle;
}
inline std::uint64_t key_of(const Mapping& mapping) {
    return mapping.address;
}

// Zero at first, and again in a forked child.
class PhysicalMemory {
  public:
    // The reserved memory has this handle now. False if it cannot be recorded; it stays reserved.
    bool record(PhysicalHandle handle, int gpu, std::uint64_t bytes);

    template <typename Call>
    CUresult release(PhysicalHandle handle, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result == CUDA_SUCCESS) drop_handle(handle);
        return result;
    }

    // One more handle of memory that this process may have created; the call sets `*handle`.
    template <typename Call>
    CUresult retain(const PhysicalHandle* handle, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result == CUDA_SUCCESS) add_handle(*handle);
        return result;
    }

    // Exports the memory as a descriptor, which the call sets. Undone, with
    // CUDA_ERROR_OUT_OF_MEMORY, if it cannot be recorded for other processes of the container.
    template <typename Call>
    CUresult share(PhysicalHandle handle, const int* fd, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result != CUDA_SUCCESS || note_shared(handle, *fd)) return result;
        return undo_share(*fd);
    }

    // Imports memory that a process of the container may have exported; the call sets `*handle`.
    template <typename Call>
    CUresult import(const PhysicalHandle* handle, int fd, const Call& call) {
        const Locked lock(mutex_);
        const DescriptorName name = name_of(fd);
        const int index = name.key != 0 ? begin_import(name.key) : -1;
        const CUresult result = call();
        if (result != CUDA_SUCCESS) {
            if (index >= 0) end_import(index);
            return result;
        }
        return note_imported(*handle, fd, name, index);
    }

    template <typename Call>
    CUresult map(const Mapping& mapping, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result != CUDA_SUCCESS || add_mapping(mapping)) return result;
        driver()->cuMemUnmap(mapping.address, mapping.bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }

    // The driver has unmapped all from `address` on, in whole mappings. It may have waited for the
    // GPU.
    void note_unmapped(std::uint64_t address, std::uint64_t bytes);

  private:
    bool note_shared(PhysicalHandle handle, int fd);
    static CUresult undo_share(int fd);
    CUresult note_imported(PhysicalHandle handle, int fd, const DescriptorName& name, int index);
    void add_handle(PhysicalHandle handle);
    void drop_handle(PhysicalHandle handle);
    bool add_mapping(Mapping mapping);
    void release_if_unused(const Physical& physical);

    pthread_mutex_t mutex_;
    std::uint64_t last_serial_;
    Table<Physical> all_;
    Table<Mapping> mappings_;
};

}  // namespace tessera::guard
