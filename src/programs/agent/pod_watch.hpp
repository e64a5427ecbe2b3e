// The watch of the node's pods, on a thread of its own, for all parts of the agent that need it.
#pragma once

#include <stop_token>
#include <thread>

#include "ports/node_pods.hpp"
#include "programs/agent/metering.hpp"
#include "programs/agent/share_enforcement.hpp"

namespace tessera {

// Null: the agent does not enforce shares, or does not measure GPU time. If both are null, there is
// no watch. All outlive the thread.
std::jthread start_pod_watch(NodePods& pods, NodeName node, ShareEnforcement* enforcement,
                             Metering* metering, const std::stop_token& stop);

}  // namespace tessera
