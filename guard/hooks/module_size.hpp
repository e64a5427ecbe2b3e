// What the variables of a module take of a card, where its image says so.
#pragma once

#include <cstdint>

namespace tessera::guard {

// Of PTX that ends with a null, all variables that it declares in global memory: large ones in
// whole granules, as the driver takes them. 0 for images of other kinds, whose insides are the
// vendor's.
std::uint64_t declared_bytes(const char* image);

}  // namespace tessera::guard
