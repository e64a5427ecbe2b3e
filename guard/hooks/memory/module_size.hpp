// The GPU memory of the variables that a module declares.
#pragma once

#include <cstdint>

namespace tessera::guard {

// Bytes of all .global variables that `image`, null-terminated PTX, defines; the largest number if
// they overflow. A variable too large to share an allocation unit takes whole units. 0 for null and
// for images of other kinds (cubin, fatbin): NVIDIA does not document their format. Source of the
// syntax: PTX ISA, "State Spaces, Types, and Variables".
std::uint64_t ptx_global_bytes(const char* image);

}  // namespace tessera::guard
