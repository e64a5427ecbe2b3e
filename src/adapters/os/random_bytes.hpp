// Random bytes for secrets.
#pragma once

#include <cstddef>
#include <string>

namespace tessera {

// From the kernel; at most 256.
std::string random_bytes(std::size_t count);

}  // namespace tessera
