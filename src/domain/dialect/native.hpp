// The native dialect: whole GPUs, or shares of GPUs with bytes and percent per share. It is
// kNativeDialect (domain/request/gpu_request.hpp).
#pragma once

#include <string_view>

#include "domain/dialect/dialect.hpp"

namespace tessera {

namespace resource {
inline constexpr std::string_view kGpu = "tessera.dev/gpu";  // count of whole GPUs
// Count of shares, each on a GPU of its own.
inline constexpr std::string_view kGpuShare = "tessera.dev/gpu-share";
inline constexpr std::string_view kGpuMemory = "tessera.dev/gpu-memory";  // bytes per share
inline constexpr std::string_view kGpuCores = "tessera.dev/gpu-cores";    // percent per share
}  // namespace resource

}  // namespace tessera
