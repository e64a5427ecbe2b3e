#include "app/workload/gpu_fit.hpp"

#include <fmt/format.h>

namespace tessera {

std::string no_gpu_is_large_enough(const workload::Gpus& request,
                                   std::span<const NodeInventory> nodes) {
    if (!request.is_share()) return {};
    const NodeInventory* on = nullptr;
    const Gpu* largest = nullptr;
    for (const NodeInventory& node : nodes) {
        for (const Gpu& gpu : node.gpus) {
            if (!gpu.usable() || (largest != nullptr && gpu.capacity() <= largest->capacity()))
                continue;
            on = &node;
            largest = &gpu;
        }
    }
    if (largest == nullptr || request.memory <= largest->capacity()) return {};
    return fmt::format(
        "--gpumemory: no GPU of the cluster has {}; the largest is GPU {} of node {} "
        "({}) with {}. The pods wait until there is such a GPU",
        to_string(request.memory), largest->index, on->name.str(), largest->model,
        rounded_down(largest->capacity()));
}

}  // namespace tessera
