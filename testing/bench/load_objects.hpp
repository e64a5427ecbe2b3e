// The objects that `./dev bench cluster` creates in a real API server: nodes with 8 GPUs as their
// agents publish them, pending pods, and running pods with the annotations of the controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/tessera/allocation_seal.hpp"

namespace tessera::bench {

// How a pod of the benchmark requests 3 GiB of a GPU.
enum class Asks : std::uint8_t {
    nothing,   // "plain": a pod without a GPU
    extended,  // example.com/gpu-mem: an amount per node, which no extender handles
    ours,      // aliyun.com/gpu-mem
    own,       // the same, with the schedulerName of the Helm chart
};
std::optional<Asks> asks_of(std::string_view name);  // plain, extended, ours, own

std::string node_name(int number);
// v1.Node, Ready: 128 cores, 1 TiB, 500 pods, 8 GPUs of 80 GiB, and the same memory as
// example.com/gpu-mem.
std::string node_object(int number);

// A pending v1.Pod that requests 1 core, 8 GiB of memory, and the GPU memory of `asks`. Its label
// is bench=`group`.
std::string waiting_pod(const std::string& group, int number, Asks asks);

// A pod that is placed before the benchmark begins. It uses the plain resource and ours, so that
// one filled cluster serves both variants.
struct Placed {
    std::string name;
    int node = 0;
    int gpu = 0;
    std::int64_t gib = 0;
};
// `pods` pods of 1 to 16 GiB on random GPUs. No GPU gets more than its 80 GiB.
std::vector<Placed> placed_pods(int nodes, int pods);
std::string placed_pod(const Placed& pod);
// A merge patch that marks the pod as running and adds the annotations of the controller's Binding.
// It is sent to the pod's status subresource.
std::string running_patch(const Placed& pod, const std::string& uid, const AllocationSeal* seal);

}  // namespace tessera::bench
