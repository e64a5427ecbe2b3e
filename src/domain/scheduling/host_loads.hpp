// The CPU and memory that all pods take of their nodes, with or without GPUs: a GPU is worth little
// on a node without free CPU.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "domain/request/host_request.hpp"

namespace tessera {

// Used by one thread.
class HostLoads {
  public:
    // The pod is on that node. True if this changes anything.
    bool set(const PodUid& pod, const NodeName& node, const HostRequest& request);
    // Returns the node that it was on; empty if it was on none.
    NodeName remove(const PodUid& pod);

    // Pods on a node that are not in `pods`.
    [[nodiscard]] std::vector<PodUid> others_than(const std::set<PodUid>& pods) const;

    // The sum over all pods of a node.
    [[nodiscard]] HostRequest of(const NodeName& node) const;
    [[nodiscard]] std::int64_t pods_of(const NodeName& node) const;

  private:
    struct Pod {
        NodeName node;
        HostRequest request;
    };
    void count(const Pod& pod, int sign);

    std::unordered_map<PodUid, Pod> pods_;
    struct Sum {
        HostRequest request;
        std::int64_t pods = 0;
    };
    std::unordered_map<NodeName, Sum> nodes_;
};

}  // namespace tessera
