// Removes the startup taint of the agent's Node, on a thread of its own.
#pragma once

#include <stop_token>
#include <thread>

#include "app/agent/inventory/gpu_monitor.hpp"
#include "app/agent/inventory/startup_taint.hpp"
#include "programs/agent/agent_port.hpp"

namespace tessera {

// All arguments but `taint` outlive the thread.
std::jthread start_untainting(NodeTaints& nodes, StartupTaint taint, const AgentHealth& health,
                              const GpuMonitor& gpus, const DeviceListOptions& shown,
                              const std::stop_token& stop);

}  // namespace tessera
