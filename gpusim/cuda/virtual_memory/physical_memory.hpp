// Physical memory, which a CUmemGenericAllocationHandle names. It is taken when it is created. It
// is released when neither a handle nor a mapping is left in this process or, if it was exported,
// in any other. Every function requires a Session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/nvidia/cuda.h"

namespace gpusim {

struct Physical {
    CUmemGenericAllocationHandle handle;  // never used twice in a process
    CUmemAllocationProp properties;
    std::size_t bytes;
    CUdevice device;       // -1: host memory
    int entry;             // of GpusFile::shared; -1: no other process can have it
    std::uint64_t offset;  // of its content: in `gpusim/memory`, or in the process's own file
    unsigned handles;      // how often cuMemRelease may be called
    unsigned mappings;
    Physical* next;  // ordered by offset, in the process's own file
};

// Null for a number that is not a handle, or for a handle that was released.
Physical* find_physical(CUmemGenericAllocationHandle handle);

// The descriptor of the file that has the content.
int content_of(const Physical& physical);

void add_mapping(Physical& physical);
void drop_mapping(Physical& physical);  // may free it

}  // namespace gpusim
