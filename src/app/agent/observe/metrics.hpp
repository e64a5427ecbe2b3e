// The agent's metrics as Prometheus text. Any thread may call.
#pragma once

#include <string>
#include <vector>

#include "app/agent/inventory/gpu_monitor.hpp"
#include "domain/cluster/node.hpp"
#include "domain/usage/unaccounted.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

// What the guard counts for containers, and what bypasses it.
struct ShareFacts {
    std::vector<ShareUse> uses;
    std::vector<Unaccounted> bypassing;
    std::vector<Unclaimed> unclaimed;
};

std::string agent_exposition(const NodeInventory& node, const GpuReadings& readings,
                             const ShareFacts& shares, const ProcessFacts& process);

}  // namespace tessera
