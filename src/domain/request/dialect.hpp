// Dialects: the ways in which users write a GPU request. One table says which resource names belong
// to which dialect; parse_pod_request turns what a pod says into the one meaning of
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

// Resource names as they stand in a pod's limits.
namespace resource {
inline constexpr std::string_view kGpu = "tessera.dev/gpu";               // count of cards
inline constexpr std::string_view kGpuMemory = "tessera.dev/gpu-memory";  // bytes per card
inline constexpr std::string_view kGpuCores = "tessera.dev/gpu-cores";    // percent per card
inline constexpr std::string_view kAliyunMem = "aliyun.com/gpu-mem";      // node units
inline constexpr std::string_view kAliyunCount = "aliyun.com/gpu-count";  // count of cards
inline constexpr std::string_view kAliyunCores = "aliyun.com/gpu-core.percentage";
}  // namespace resource

// The annotation of a pod, in any dialect: percent of each card that its containers with a share
// get at most.
inline constexpr std::string_view kCoresCeiling = "tessera.dev/gpu-cores-ceiling";

struct Dialect {
    DialectId id;
    std::string_view name;  // as config and annotations spell it
    std::string_view summary;
    // The resource whose device-plugin Allocate and PreStartContainer guard the start of a
    // container.
    std::string_view gate;
    std::span<const std::string_view> resources;
};

// All dialects, in the order in which messages name them.
std::span<const Dialect> dialects();
const Dialect& dialect(DialectId id);
// True for a resource that any dialect reads. Used to skip pods that are none of our business.
bool is_gpu_resource(std::string_view resource);

// One container as the pod spec gives it: resource name and quantity text, limits only (the API
// server makes requests equal to limits for extended resources).
struct ContainerSpec {
    std::string name;
    ContainerKind kind = ContainerKind::app;
    std::vector<std::pair<std::string, std::string>> limits;
    std::optional<std::string> cores_ceiling;  // the text of the pod's kCoresCeiling

    friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
};

// Errors are invalid_argument, name container and resource, and say what to write instead:
// malformed, negative or fractional quantities, zero, overflow, a quantity without its count, two
// dialects in one pod, more than kMaxGpusPerContainer cards, a ceiling that is none, below the
// cores of a container, or of no share.
Result<PodRequest> parse_pod_request(std::span<const ContainerSpec> containers);

inline constexpr int kMaxGpusPerContainer = 64;

}  // namespace tessera
