// A name on an open file. Every copy of its descriptor has it, in any process. The name is a lock
// of the open file on bytes that no program reads or writes, so it exists as long as the open file.
// The lock's start is the name, and its length is the size of the memory behind the descriptor.
//
// Needs open-file-description locks (Linux 3.15), and /proc to read one.
#pragma once

#include <cstdint>

#include "guard/region/layout.hpp"

namespace tessera::guard {

struct DescriptorName {
    std::uint64_t key;      // below 2^33, not 0
    AllocationUnits units;  // not 0
};

// Whether the file has the name now. False if 64 other open files have it, or if the file takes no
// lock.
bool set_name(int fd, const DescriptorName& name);
// The same, but false also if any other open file has the name.
bool set_new_name(int fd, const DescriptorName& name);
// Key 0: the file has no name.
DescriptorName name_of(int fd);
// Whether another open file of the same file has a name with that key; `fd` itself has none. `fd`
// may be read-only.
bool is_anyones_name(int fd, std::uint64_t key);

}  // namespace tessera::guard
