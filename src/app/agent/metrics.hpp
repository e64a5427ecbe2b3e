// What the agent shows, in Prometheus text. Any thread may call.
#pragma once

#include <string>
#include <vector>

#include "app/agent/cards.hpp"
#include "domain/cluster/node.hpp"
#include "ports/process_facts.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

std::string agent_exposition(const NodeInventory& node, const CardReadings& readings,
                             const std::vector<ShareUse>& uses, const ProcessFacts& process);

}  // namespace tessera
