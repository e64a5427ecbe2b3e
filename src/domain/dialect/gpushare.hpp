// gpushare's dialect (docs/research/gpushare.md §1): memory in the node's unit as a sum over the
// container's GPUs, and what gpushare's own programs write and read.
#pragma once

#include <string_view>

#include "domain/dialect/dialect.hpp"

namespace tessera {

namespace resource {
inline constexpr std::string_view kAliyunMem = "aliyun.com/gpu-mem";  // in the node's memory unit
inline constexpr std::string_view kAliyunCount = "aliyun.com/gpu-count";  // count of GPUs
inline constexpr std::string_view kAliyunCores = "aliyun.com/gpu-core.percentage";
}  // namespace resource

// Annotations of a placed pod (docs/research/gpushare.md §1.3). The first is also a variable that
// gpushare's device plugin gives to containers.
namespace key {
inline constexpr std::string_view kAliyunIndex = "ALIYUN_COM_GPU_MEM_IDX";
inline constexpr std::string_view kAliyunDev = "ALIYUN_COM_GPU_MEM_DEV";
inline constexpr std::string_view kAliyunPod = "ALIYUN_COM_GPU_MEM_POD";
inline constexpr std::string_view kAliyunAssigned = "ALIYUN_COM_GPU_MEM_ASSIGNED";
inline constexpr std::string_view kAliyunAssumeTime = "ALIYUN_COM_GPU_MEM_ASSUME_TIME";
inline constexpr std::string_view kGpushareAllocation = "scheduler.framework.gpushare.allocation";
}  // namespace key

extern const Dialect kGpushareDialect;

}  // namespace tessera
