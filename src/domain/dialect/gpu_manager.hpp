// The dialect of Tencent's gpu-manager, which kubernetes-gpusharing uses, too: percent of a GPU's
// compute time, and memory in units of 256 MiB. docs/compat/gpu-manager.md has the differences.
#pragma once

#include <string_view>

#include "domain/dialect/dialect.hpp"

namespace tessera {

namespace resource {
// 1 to 99: percent of one GPU. A multiple of 100: whole GPUs.
inline constexpr std::string_view kVcudaCore = "tencent.com/vcuda-core";
inline constexpr std::string_view kVcudaMemory = "tencent.com/vcuda-memory";  // units of 256 MiB
}  // namespace resource

namespace key {
// The compute limit, in percent. gpu-manager takes more than 100 as 100.
inline constexpr std::string_view kVcudaCoreLimit = "tencent.com/vcuda-core-limit";

// Annotations of a placed pod. The first is completed by the number of an app container.
inline constexpr std::string_view kPredicateGpuIndex = "tencent.com/predicate-gpu-idx-";
inline constexpr std::string_view kPredicateNode = "tencent.com/predicate-node";
inline constexpr std::string_view kPredicateTime = "tencent.com/predicate-time";
inline constexpr std::string_view kGpuAssigned = "tencent.com/gpu-assigned";
}  // namespace key

extern const Dialect kGpuManagerDialect;

}  // namespace tessera
