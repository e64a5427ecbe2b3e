// Whether one more share fits on a GPU.
#pragma once

#include <cstddef>

#include "domain/cluster/node.hpp"

namespace tessera {

// `peak`, `cores_peak`: the pod's peak on this GPU, this share included.
inline bool has_room(const GpuState& state, const GpuRequest& gpu, Bytes peak, Percent cores_peak) {
    const bool is_whole = gpu.memory.kind == MemoryRequest::Kind::whole_gpu;
    return state.usable && peak <= state.free() &&
           (state.allocated_cores + cores_peak).value <= 100 && (!is_whole || state.pods == 0);
}

// The same for a pod that has nothing else on the GPU.
inline bool has_room(const NodeGpus& node_gpus, std::size_t index, const GpuRequest& gpu) {
    const GpuState& of = node_gpus.states[index];
    return has_room(of, gpu, bytes_of(gpu.memory, node_gpus.unit, of.capacity), gpu.cores);
}

}  // namespace tessera
