// What the agent shows, in Prometheus text. Any thread may call.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

// The driver's last answer.
struct CardReadings {
    std::vector<GpuReading> cards;
    std::chrono::nanoseconds age{};
};

std::string agent_exposition(const NodeInventory& node, const CardReadings& readings,
                             const ProcessFacts& process);

}  // namespace tessera
