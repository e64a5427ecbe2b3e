#include "domain/placement/given_gpus.hpp"

#include <fmt/format.h>

#include "domain/cluster/memory_enforcement.hpp"

namespace tessera {

std::optional<Assignment> given_gpus(const NodeInfo& node, const PodRequest& pod,
                                     const PodToPlace& for_pod, const NodeScorer* scorer) {
    const std::vector<GpuState> left = gpus_left(node, for_pod);
    const RoomLeft room(left);
    Placer placer(pod.containers);
    const Assignment* best = placer.try_node(room.node_gpus(node));
    if (best == nullptr) return std::nullopt;
    auto scored =
        scorer == nullptr ? std::nullopt : scorer->choose(node, room.node_gpus(node), pod);
    if (!scored) return *best;
    // Reservations for the nominees after the pod assumed that best fit chooses the pod's GPUs.
    const auto behind = [&](const Assignment& gpus) {
        return room_behind(
            node, for_pod,
            containers_of(pod.containers, gpus, node.inventory.gpus, node.inventory.unit), left);
    };
    return node.nominees.empty() || behind(*scored) >= behind(*best) ? scored : *best;
}

Result<> check_still_offered(const ContainerRequests& pod, const Allocation& given,
                             const NodeInventory& node) {
    if (rules_of(pod).isolation != Isolation::driver || driver_limits_memory(given, node))
        return {};
    return fail(Code::unavailable,
                fmt::format("{} {}, which node {} does not offer now", kIsolation,
                            word_of(Isolation::driver), node.name.str()));
}

}  // namespace tessera
