// The native dialect: GPUs, bytes and percent per GPU.
#pragma once

#include <string_view>

#include "domain/dialect/dialect.hpp"

namespace tessera {

namespace resource {
inline constexpr std::string_view kGpu = "tessera.dev/gpu";               // count of GPUs
inline constexpr std::string_view kGpuMemory = "tessera.dev/gpu-memory";  // bytes per GPU
inline constexpr std::string_view kGpuCores = "tessera.dev/gpu-cores";    // percent per GPU
}  // namespace resource

extern const Dialect kNativeDialect;

}  // namespace tessera
