// Physical memory that this process has made (cuMemCreate): the card has it back when neither a
// handle nor a mapping of it is left, and so long it counts. It does not end with a context.
//
// Memory that was exported, or imported from others of the container, is charged to one of those
// who have it, and while a descriptor of it is open (shared_memory.hpp). What others export is
// theirs, and is not here.
//
// Each function but the first takes the call to the driver and returns what that said. Those that
// do not wait for the card make it under the mutex, so that what was counted is in the order in
// which it happened. Any thread. All want begin() to have succeeded.
#pragma once

#include <pthread.h>

#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/shared_memory.hpp"
#include "guard/process/table.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

using PhysicalHandle = CUmemGenericAllocationHandle;

struct Physical {
    PhysicalHandle handle;
    std::uint64_t serial;  // no other has it in this process, whatever its handle
    std::uint64_t bytes;
    int card;
    unsigned handles;  // how often cuMemRelease may be called
    unsigned mappings;
    bool is_shared;  // and an entry of the region says who is charged
    bool is_imported;
    int index;  // of that
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
    // What was set aside has this handle now. False, and set aside still, where it cannot be noted.
    bool note(PhysicalHandle handle, int card, std::uint64_t bytes);

    template <typename Call>
    CUresult release(PhysicalHandle handle, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result == CUDA_SUCCESS) drop_handle(handle);
        return result;
    }

    // One more handle of what the process may have made; `*handle` is set by the call.
    template <typename Call>
    CUresult retain(const PhysicalHandle* handle, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result == CUDA_SUCCESS) add_handle(*handle);
        return result;
    }

    // Gives a descriptor of it away, which the call sets. False, and that is undone, where it
    // cannot be told to others of the container.
    template <typename Call>
    CUresult share(PhysicalHandle handle, const int* fd, const Call& call) {
        const Locked lock(mutex_);
        const CUresult result = call();
        if (result != CUDA_SUCCESS || note_shared(handle, *fd)) return result;
        return undo_share(*fd);
    }

    // Imports what somebody of the container may have exported; `*handle` is set by the call.
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

    // The driver has unmapped all from `address` on, whole mappings. It may have waited for the
    // card.
    void note_unmapped(std::uint64_t address, std::uint64_t bytes);

  private:
    bool note_shared(PhysicalHandle handle, int fd);
    static CUresult undo_share(int fd);
    CUresult note_imported(PhysicalHandle handle, int fd, const DescriptorName& name, int index);
    void add_handle(PhysicalHandle handle);
    void drop_handle(PhysicalHandle handle);
    bool add_mapping(Mapping mapping);
    void put_back_if_unused(const Physical& physical);

    pthread_mutex_t mutex_;
    std::uint64_t last_serial_;
    Table<Physical> all_;
    Table<Mapping> mappings_;
};

}  // namespace tessera::guard
