// The agent's HTTP ports: /metrics and /shares, and health.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "programs/agent/metering.hpp"
#include "programs/agent/share_enforcement.hpp"
#include "programs/common/small_server.hpp"

namespace tessera {

// Answers from the last reading of the GPUs, so a request is cheap. If the port is taken, the agent
// keeps running: a node's containers matter more than its graphs. Port 0: no thread. `enforcement`
// is null where shares are not enforced, `metering` where GPU time is not measured. All arguments
// outlive the thread.
std::jthread serve_metrics(const SmallServer& server, const GpuMonitor& gpus,
                           const ShareEnforcement* enforcement, const Metering* metering,
                           Clock& clock, const std::stop_token& stop);

// What /readyz answers. Thread-safe.
class AgentHealth {
  public:
    using Check = std::function<Result<>()>;

    // `check` is called for each request, by any thread; empty: the agent is starting, or ending.
    void set(Check check);
    [[nodiscard]] Result<> ready() const;

  private:
    mutable Mutex mutex_;
    Check check_ TESSERA_GUARDED_BY(mutex_);
};

// Serves /healthz, which is "ok" while the process answers, and /readyz. If the port is taken, the
// agent runs without it and tries again. Port 0: no thread. All arguments outlive the thread.
std::jthread serve_health(const SmallServer& server, const AgentHealth& health, Clock& clock,
                          const std::stop_token& stop);

}  // namespace tessera
