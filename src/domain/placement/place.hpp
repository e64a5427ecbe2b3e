// Whether and where a pod fits on a node. Filter, prioritize and bind all use this one decision, so
// they cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/placement/gpu_constraints.hpp"
#include "domain/placement/gpu_sets.hpp"

namespace tessera {

// A pod's GPUs on one node: for every container of the request, in order, the chosen positions in
// the node's GPU list (`gpus` of them each, flattened).
struct Assignment {
    std::vector<int> gpus;
    std::int64_t price = 0;  // bytes that stay free on these GPUs, in total; smaller is better
};

// The pod's rules.
const GpuRules& rules_of(const ContainerRequests& request);

// Whether the pod requests one GPU for one container.
bool asks_one_share(const ContainerRequests& request);
// Whether it also requests nothing but memory, of any GPU. The node's largest free share decides
// then.
bool asks_only_memory(const ContainerRequests& request);

// Places the containers greedily by best fit, the policy of gpushare (docs/research/gpushare.md
// §2.5). Each container takes distinct GPUs with the least free memory that is enough for the pod's
// peak (allocation.hpp); among equals, the lowest index. For linked GPUs, gpu_sets.hpp decides.
//
// The first attempt uses the pod's container order. If that fails, a second attempt places the
// largest app containers first, so that a small one does not take the GPU that a large one needs.
// This does not find every fit, because the exact decision is bin packing.
//
// One thread reuses a placer for many nodes, so that almost nothing is allocated per node.
class Placer {
  public:
    Placer(const ContainerRequests& request);

    // The price of the assignment that try_node would find. Nothing if it finds none or the node is
    // not open.
    std::optional<std::int64_t> price(const PlacementRow& row, std::span<const Bytes> free);

    // The best fit on these GPUs, or null. Valid until the next call.
    const Assignment* try_node(const NodeGpus& node_gpus);

  private:
    struct Own {  // what the pod itself takes, per GPU
        Bytes running;
        Bytes peak;
        Percent cores_running;
        Percent cores_peak;

        friend bool operator==(const Own&, const Own&) = default;
    };

    static Own with_share(const Own& own, const ContainerRequest& container, Bytes request);
    bool place_in_some_order(const NodeGpus& node_gpus, Nearness nearness);
    bool place_all(std::span<const std::size_t> order, const NodeGpus& node_gpus,
                   Nearness nearness);
    bool place_container(const ContainerRequest& container, const NodeGpus& node_gpus,
                         Nearness nearness);
    bool place_shares(const ContainerRequest& container, const NodeGpus& node_gpus, GpuMask among);
    bool place_share(const ContainerRequest& container, std::size_t first,
                     const NodeGpus& node_gpus, GpuMask among);
    [[nodiscard]] bool is_untouched(std::size_t gpu) const;
    void sort_as_asked(std::span<const std::size_t> order);

    const ContainerRequests& request_;
    const bool one_share_;
    const bool only_memory_;
    GpuConstraints gpu_constraints_;
    std::vector<std::size_t> in_order_;
    std::vector<std::size_t> largest_first_;  // empty if the order is the same
    std::vector<Own> own_;
    std::vector<Own> before_;  // of the GPUs that the current container has taken so far
    GpuSets sets_;
    Assignment assignment_;
};

// The GPUs of `assignment` as the allocation's containers. `gpus` and the GPUs given to try_node
// are parallel.
std::vector<ContainerAllocation> containers_of(const ContainerRequests& request,
                                               const Assignment& assignment,
                                               std::span<const Gpu> gpus, MemoryUnit unit);

}  // namespace tessera
