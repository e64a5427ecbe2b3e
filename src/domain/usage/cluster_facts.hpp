// What the commands that show a cluster know of its nodes and pods beside GPU shares.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"

namespace tessera {

struct ShownNode {
    std::string role;             // "control-plane", or several with commas; empty: none
    std::string status;           // as kubectl shows it: Ready, NotReady,SchedulingDisabled
    int plugin_gpus = 0;          // nvidia.com/gpu, which a device plugin assigns whole (capacity)
    int healthy_plugin_gpus = 0;  // of these (allocatable)

    friend bool operator==(const ShownNode&, const ShownNode&) = default;
};

struct ShownPod {
    std::string status;   // as kubectl shows it: Running, Pending, CrashLoopBackOff
    int plugin_gpus = 0;  // nvidia.com/gpu that its containers request

    friend bool operator==(const ShownPod&, const ShownPod&) = default;
};

struct ClusterFacts {
    std::vector<NodeInventory> nodes;
    std::vector<ShownNode> shown_nodes;  // parallel to nodes
    std::vector<PodInfo> pods;
    std::vector<ShownPod> shown_pods;  // parallel to pods
    std::set<NodeName> agents;         // nodes on which a pod of an agent is ready
};

}  // namespace tessera
