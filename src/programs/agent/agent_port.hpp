// The agent's HTTP port: /metrics and /shares.
#pragma once

#include <stop_token>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "ports/clock.hpp"
#include "programs/agent/share_keeping.hpp"
#include "programs/common/small_server.hpp"

namespace tessera {

// Answers from the last reading of the GPUs, so a request is cheap. If the port is taken, the agent
// keeps running: a node's containers matter more than its graphs. Port 0: no thread. `held` is null
// where shares are not enforced. All arguments outlive the thread.
std::jthread serve_metrics(const SmallServer& server, const GpuMonitor& gpus,
                           const ShareKeeping* held, Clock& clock, const std::stop_token& stop);

}  // namespace tessera
