// A name on an open file, which every copy of its descriptor has, in whatever process: a lock of
// the open file on bytes that nobody reads or writes, as it goes where the file goes. Where it
// begins is the name, and how long it is the size of the memory behind it.
//
// Needs open-file-description locks (Linux 3.15), and /proc to read one.
#pragma once

#include <cstdint>

#include "guard/region/layout.hpp"

namespace tessera::guard {

struct DescriptorName {
    std::uint64_t key;  // below 2^33, not 0
    Granules granules;  // not 0
};

// Whether the file has the name now. False where 64 others have it, or the file takes no lock.
bool set_name(int fd, const DescriptorName& name);
// The same where no other file may have it.
bool set_new_name(int fd, const DescriptorName& name);
// Key 0: it has none.
DescriptorName name_of(int fd);
// Whether an open file of the same has a name with that key; `fd` has none. It may be read-only.
bool is_anyones_name(int fd, std::uint64_t key);

}  // namespace tessera::guard
