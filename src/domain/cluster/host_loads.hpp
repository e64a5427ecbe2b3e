// The CPU and memory that pods take of nodes, whether they ask for GPUs or not: a card is worth
// little on a node without CPU.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "domain/request/host_ask.hpp"

namespace tessera {

// One thread.
class HostLoads {
  public:
    // The pod is on that node. True when that says something new.
    bool set(const PodUid& pod, const NodeName& node, const HostAsk& ask);
    // The node that it was on; empty when it was on none.
    NodeName remove(const PodUid& pod);

    // Pods on a node that are not among these.
    [[nodiscard]] std::vector<PodUid> others_than(const std::set<PodUid>& pods) const;

    // Of all pods of a node together.
    [[nodiscard]] HostAsk of(const NodeName& node) const;

  private:
    struct Pod {
        NodeName node;
        HostAsk ask;
    };
    void count(const Pod& pod, int sign);

    std::unordered_map<PodUid, Pod> pods_;
    std::unordered_map<NodeName, HostAsk> nodes_;
};

}  // namespace tessera
