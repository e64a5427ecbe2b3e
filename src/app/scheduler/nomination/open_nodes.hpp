// Where pods can be nominated: the nodes that their own rules allow, and on which CPU, memory and
// pods are left beside the pods with reservations there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "domain/cluster/scheduling_rules.hpp"
#include "domain/cluster/snapshot.hpp"

namespace tessera {

// Of one snapshot and those with the same positions. Used by one thread.
class OpenNodes {
  public:
    explicit OpenNodes(const Snapshot& snapshot);

    // The positions where the pod can run, but for its GPUs; without the nodes in `but`.
    [[nodiscard]] std::vector<std::uint32_t> of(const Snapshot& snapshot, const PodRequest& pod,
                                                const NodeRules& rules,
                                                const std::set<NodeName>& but);
    // Whether CPU, memory and pods are left for the pod.
    [[nodiscard]] bool has_room(std::uint32_t position, const PodRequest& pod) const;
    // The pod takes its part of that node.
    void take(std::uint32_t position, const PodRequest& pod);

  private:
    struct Left {
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        std::int64_t pods = 0;
    };

    std::vector<Left> left_;  // by position
    std::vector<std::uint32_t> open_;
    std::map<NodeRules, std::vector<std::uint32_t>> by_rules_;
};

}  // namespace tessera
