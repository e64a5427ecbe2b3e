// Dialects: the ways in which users write a GPU request. One table lists the resource names of each
// dialect. parse_container_requests turns a pod's resources into the common form of
// gpu_request.hpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/request/gpu_request.hpp"

namespace tessera {

// Resource names in a pod's limits.
namespace resource {
inline constexpr std::string_view kGpu = "tessera.dev/gpu";               // count of GPUs
inline constexpr std::string_view kGpuMemory = "tessera.dev/gpu-memory";  // bytes per GPU
inline constexpr std::string_view kGpuCores = "tessera.dev/gpu-cores";    // percent per GPU
inline constexpr std::string_view kAliyunMem = "aliyun.com/gpu-mem";  // in the node's memory unit
inline constexpr std::string_view kAliyunCount = "aliyun.com/gpu-count";  // count of GPUs
inline constexpr std::string_view kAliyunCores = "aliyun.com/gpu-core.percentage";
}  // namespace resource

// A pod's annotation, in any dialect: the compute limit. It is the most percent of each GPU that a
// container with a share gets.
inline constexpr std::string_view kCoresLimit = "tessera.dev/gpu-cores-limit";

struct Dialect {
    DialectId id;
    std::string_view name;  // as config and annotations spell it
    std::string_view summary;
    // The resource whose Allocate and PreStartContainer calls (device plugin) let a container
    // start.
    std::string_view gate;
    std::span<const std::string_view> resources;
};

// All dialects, in the order in which messages name them.
std::span<const Dialect> dialects();
const Dialect& dialect(DialectId id);
// True for a resource of any dialect. Used to skip pods that request no GPU.
bool is_gpu_resource(std::string_view resource);

// One container of a pod spec: resource names and quantity texts. Limits only, because the API
// server makes requests equal to limits for extended resources.
struct ContainerSpec {
    std::string name;
    ContainerKind kind = ContainerKind::app;
    std::vector<std::pair<std::string, std::string>> limits;
    std::optional<std::string> cores_limit;  // the text of the pod's kCoresLimit

    friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
};

// Errors are invalid_argument. They name the container and the resource, and say what to write
// instead. They report:
// - malformed, negative or fractional quantities, zero, and overflow
// - a quantity without its count
// - two dialects in one pod
// - more than kMaxGpusPerContainer GPUs
// - a compute limit that is no percent, is below the cores of a container, or has no share
Result<ContainerRequests> parse_container_requests(std::span<const ContainerSpec> containers);

inline constexpr int kMaxGpusPerContainer = 64;

}  // namespace tessera
