// Which GPUs a process sees, and in which order.
//
// A GPU exists if its marker file does (as with /dev/nvidia<minor>). NVIDIA_VISIBLE_DEVICES only
// removes GPUs from that, as a container toolkit would. "all", "void", empty or unset remove
// nothing; toolkits use "void" to say that others bring the devices in. "none" removes all.
// Anything else is a list of the GPUs that stay, by index on the node or by UUID.
//
// CUDA_VISIBLE_DEVICES selects and orders GPUs for libcuda only. It is a list of indices among the
// existing GPUs, and of UUIDs or unique beginnings of UUIDs. The first entry that names no GPU ends
// the list; a GPU named twice empties it. Source: CUDA programming guide, and how PyTorch parses
// the same.
#pragma once

#include "gpusim/state/state.hpp"

namespace gpusim {

struct GpuList {
    int count = 0;
    int gpus[kMaxGpus] = {};  // indices into GpusFile::gpus
};

// The GPUs that this container has, in the node's order.
GpuList present_gpus(const State& state, const char* nvidia_visible_devices);

// Those of `present` that CUDA shows, in its order. `cuda_visible_devices` may be null (unset).
GpuList cuda_gpus(const State& state, const GpuList& present, const char* cuda_visible_devices);

}  // namespace gpusim
