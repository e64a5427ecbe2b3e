// Sizes as people write them for GPUs and allocations.
#pragma once

#include <cstdint>

namespace gpusim {

// Grammar: digits, then one of "", "B", "KiB", "MiB", "GiB", "TiB"; "0" is a size. False for
// anything else and for what does not fit 63 bits; `bytes` is then unchanged.
bool parse_size(const char* text, std::uint64_t* bytes);

}  // namespace gpusim
