// What a pod requests of GPUs, in one form for all dialects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_rules.hpp"

namespace tessera {

// The unit in which a node counts aliyun.com/gpu-mem. A flag of the agent sets it per node, so the
// same pod means 3 GiB on one node and 3 MiB on another.
enum class MemoryUnit { gib, mib };

constexpr Bytes bytes_per_unit(MemoryUnit unit) {
    return unit == MemoryUnit::gib ? gibibytes(1) : mebibytes(1);
}
constexpr std::string_view unit_name(MemoryUnit unit) {
    return unit == MemoryUnit::gib ? "GiB" : "MiB";
}

// Memory requested of each GPU.
struct MemoryRequest {
    enum class Kind {
        whole_gpu,   // all of a GPU that no other pod uses
        bytes,       // `amount` bytes
        node_units,  // `amount` of the node's own MemoryUnit
        percent,     // `amount` percent of each GPU's memory
    };
    Kind kind = Kind::whole_gpu;
    std::int64_t amount = 0;

    friend bool operator==(const MemoryRequest&, const MemoryRequest&) = default;
};

// Whether it is the same number of bytes on every GPU of a node.
constexpr bool is_same_on_every_gpu(const MemoryRequest& request) {
    return request.kind == MemoryRequest::Kind::bytes ||
           request.kind == MemoryRequest::Kind::node_units;
}

inline constexpr int kMaxGpusPerContainer = 64;

// No compute limit: 100 percent of a GPU.
inline constexpr Percent kNoCoresLimit{100};

// The way in which the request is written (domain/dialect/dialect.hpp).
struct Dialect;
extern const Dialect kNativeDialect;

struct GpuRequest {
    int gpus = 1;  // distinct GPUs
    MemoryRequest memory;
    Percent cores;  // guarantee, per GPU; 0: none
    Percent cores_limit =
        kNoCoresLimit;  // the most of a GPU's time, even if the GPU is idle otherwise
    const Dialect* dialect = &kNativeDialect;  // never null
    GpuRules rules;                            // of the pod: the same for each of its containers

    friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

// When a container has its share. An init container has it only before the app containers start. A
// sidecar (an init container with restartPolicy Always) has it from its start to the end of the
// pod.
enum class ContainerKind { app, init, sidecar };

struct ContainerRequest {
    std::string container;
    ContainerKind kind = ContainerKind::app;
    GpuRequest gpu;

    friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

// The containers of a pod that request GPUs, in the order in which kubelet starts them: init
// containers first. Empty if the pod requests no GPU.
using ContainerRequests = std::vector<ContainerRequest>;

}  // namespace tessera
