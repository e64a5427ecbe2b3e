// The agents' reports of how containers use their GPU shares.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "base/result.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

struct AgentReport {
    NodeName node;
    std::chrono::nanoseconds at{};  // of the steady clock, when it was read
    std::int64_t unix_s = 0;
    std::vector<ShareUse> shares;
};

class AgentReports {
  public:
    virtual ~AgentReports() = default;

    // Asks all agents at the same time, so it takes some seconds at most. An agent that does not
    // answer is left out. unsupported: no agent has a port for it (agent.listen of the chart).
    virtual Result<std::vector<AgentReport>> read(const std::stop_token& stop) = 0;
};

}  // namespace tessera
