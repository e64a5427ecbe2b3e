// What a module's variables take of a GPU, if its image declares that.
#pragma once

#include <cstdint>

namespace tessera::guard {

// For null-terminated PTX: the size of all variables that it declares in global memory. Large ones
// take whole allocation units, as in the driver. 0 for images of other kinds, whose format is the
// vendor's secret.
std::uint64_t declared_bytes(const char* image);

}  // namespace tessera::guard
