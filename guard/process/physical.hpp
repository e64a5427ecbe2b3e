// Physical memory that this process has made (cuMemCreate): the card has it back when neither a
// handle nor a mapping of it is left, and so long it counts. It does not end with a context.
//
// Memory that was imported is its maker's, and is not here.
//
// Each function but the first takes the call to the driver and returns what that said. Those that
// do not wait for the card make it under the mutex, so that what was counted is in the order in
// which it happened. Any thread. All want begin() to have succeeded.
#pragma once

#include <pthread.h>

#include "guard/inject/driver.hpp"
#include "guard/process/locked.hpp"
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
