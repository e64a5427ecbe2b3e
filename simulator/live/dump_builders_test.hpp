// Builders of snapshots for tests: nodes with GPUs by model and GiB, with the UUIDs "NODE-0",
// "NODE-1", ...
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "domain/dump/cluster_dump.hpp"

namespace tessera::build {

inline DumpNode node(const std::string& name, std::vector<std::pair<const char*, int>> gpus) {
    DumpNode out{.name = name, .host = {8'000, gibibytes(64)}};
    for (const auto& [model, gib] : gpus) {
        out.gpus.push_back({.model = model,
                            .memory = gibibytes(gib),
                            .uuid = GpuUuid(name + "-" + std::to_string(out.gpus.size()))});
    }
    return out;
}

// A pod in namespace "s"; it requests whole GPUs if `gib` is 0.
inline DumpPod pod(const std::string& name, int gib, int gpus = 1, GpuRuleTexts rules = {}) {
    DumpPod out{.name = {"s", name},
                .created = name,
                .gpu_rules = std::move(rules),
                .requests = {{.gpus = gpus}}};
    if (gib > 0) out.requests[0].memory = {MemoryRequest::Kind::bytes, gibibytes(gib).count};
    return out;
}

// Puts the pod on one GPU of a node.
inline DumpPod on(DumpPod pod, const std::string& node, int gpu) {
    pod.node = node;
    const Bytes memory{pod.requests[0].memory.amount};
    const bool whole = pod.requests[0].memory.kind == MemoryRequest::Kind::whole_gpu;
    pod.allocated = {{ContainerKind::app, {{gpu, memory, pod.requests[0].cores, whole}}}};
    return pod;
}

}  // namespace tessera::build
