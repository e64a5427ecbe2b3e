#pragma once

#include <algorithm>
#include <string_view>

#include "base/ascii.hpp"

namespace tessera {

// Whether the name is one that NVML gives a GPU (GPU-40a36dc3-…), or the beginning of one. Such a
// name is one part of a path.
inline bool is_gpu_name(std::string_view name) {
    return name.starts_with("GPU-") &&
           std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '-'; });
}

}  // namespace tessera
