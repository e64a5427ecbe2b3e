// The startup taint of a node: a taint that keeps pods away from a new node until its agent is
// ready. The node group sets it, and the agent removes it. Cluster Autoscaler and Karpenter treat a
// node with it as one that still starts, so they add no second node for the same pod.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/ids.hpp"
#include "ports/clock.hpp"
#include "ports/kube/node_taints.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct StartupTaint {
    NodeName node;
    std::string key;  // of the taint, with any effect; empty: nothing to remove
};

// Returns after `stop`, and at once without a key. Removes the taint once `ready` succeeds and the
// Node shows devices of each resource of `lists` that has a healthy device: kubelet updates the
// Node some seconds after it was sent a list, and a pod fits only after that. Asks every second,
// and every five seconds after an error of the API server, which it logs once. Without the taint it
// asks every two minutes: kubelet sets it again if the Node was deleted and registers again.
void remove_startup_taint(NodeTaints& nodes, const StartupTaint& taint,
                          const std::function<Result<>()>& ready,
                          const std::function<DeviceLists()>& lists, Clock& clock,
                          const std::stop_token& stop);

}  // namespace tessera
