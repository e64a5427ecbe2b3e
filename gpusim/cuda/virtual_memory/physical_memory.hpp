// Physical memory: what a CUmemGenericAllocationHandle names. It is taken when it is made and given
// back when neither a handle nor a mapping is left, here and, where it was exported, anywhere else.
// Every function wants a Session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/nvidia/cuda.h"

namespace gpusim {

struct Physical {
    CUmemGenericAllocationHandle handle;  // never given twice in a process
    CUmemAllocationProp properties;
    std::size_t bytes;
    CUdevice device;       // -1: memory of the host
    int entry;             // of CardsFile::shared; -1: nobody else can have it
    std::uint64_t offset;  // of its content: in `gpusim/memory`, or in the process's own file
    unsigned handles;      // how often cuMemRelease may be called
    unsigned mappings;
    Physical* next;  // in the order of offsets, those of the process's own file
};

// Null for a number that is no handle, or is one that was released.
Physical* find_physical(CUmemGenericAllocationHandle handle);

// The descriptor of the file that has the content.
int content_of(const Physical& physical);

void add_mapping(Physical& physical);
void drop_mapping(Physical& physical);  // may free it

}  // namespace gpusim
