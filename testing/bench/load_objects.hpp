// What `./dev bench cluster` puts into a real API server: nodes with 8 cards as their agents
// publish them, pods that wait, and pods that run with what the controller would have written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/allocation_seal.hpp"

namespace tessera::bench {

// How a pod of the bench asks for 3 GiB of a card.
enum class Asks : std::uint8_t {
    nothing,   // "plain": a pod without a GPU
    extended,  // an amount per node that nobody places: example.com/gpu-mem
    ours,      // aliyun.com/gpu-mem
};
std::optional<Asks> asks_of(std::string_view name);  // plain, extended, ours

std::string node_name(int number);
// v1.Node, Ready: 128 cores, 1 TiB, 500 pods, 8 cards of 80 GiB, and the same as a plain resource.
std::string node_object(int number);

// v1.Pod that no scheduler has seen: 1 core, 8 GiB of memory, and what it asks for. Labelled
// bench=`group`.
std::string waiting_pod(const std::string& group, int number, Asks asks);

// A pod that was placed before the bench begins. It counts for the plain resource and for ours, so
// that one filled cluster serves both.
struct Placed {
    std::string name;
    int node = 0;
    int card = 0;
    std::int64_t gib = 0;
};
// `pods` of 1 to 16 GiB on cards drawn at random, none of them over its 80 GiB.
std::vector<Placed> placed_pods(int nodes, int pods);
std::string placed_pod(const Placed& pod);
// A merge patch for its status: it runs, and has the annotations that a Binding of ours brings.
std::string running_patch(const Placed& pod, const std::string& uid, const AllocationSeal* seal);

}  // namespace tessera::bench
