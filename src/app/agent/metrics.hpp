// What the agent shows, in Prometheus text. Any thread may call.
#pragma once

#include <string>

#include "app/agent/cards.hpp"
#include "domain/cluster/node.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

std::string agent_exposition(const NodeInventory& node, const CardReadings& readings,
                             const ProcessFacts& process);

}  // namespace tessera
