// The sets of GPUs from which a container takes its own, by links: several GPUs near each other, or
// a single GPU that breaks up the fewest topology groups.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

// Whether nearer GPUs are preferred if the pod requires no link.
enum class Nearness { preferred, as_asked };

// One thread reuses it for many nodes, so that little is allocated per node.
class GpuSets {
  public:
    // The candidate sets; the first one with enough free is the best. First the topology groups
    // (topology_groups.hpp) in their order, and among equal ones the one with the least free
    // memory. Then any GPUs, unless the pod requires a link. Valid until the next call.
    std::span<const GpuMask> of(const NodeGpus& node_gpus, const GpuRequest& gpu,
                                Nearness nearness);

  private:
    struct Choice {
        std::size_t topology_group;  // the first of those that are alike
        Bytes free;
        GpuMask gpus;
    };

    std::vector<Choice> choices_;
    std::vector<GpuMask> sets_;
};

// `gpu`, or an equal idle GPU in whose topology groups fewer other GPUs are idle: this keeps larger
// topology groups complete. Only GPUs for which `may_take` is true.
std::size_t least_missed(const NodeGpus& node_gpus, std::size_t gpu,
                         const std::function<bool(std::size_t)>& may_take);

}  // namespace tessera
