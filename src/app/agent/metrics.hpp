// What the agent shows, in Prometheus text. Any thread may call.
#pragma once

#include <string>
#include <vector>

#include "app/agent/cards.hpp"
#include "domain/cluster/node.hpp"
#include "domain/usage/unaccounted.hpp"
#include "ports/process_facts.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

// Of who is held, and of who goes past that.
struct ShareFacts {
    std::vector<ShareUse> uses;
    std::vector<Unaccounted> evaders;
    std::vector<Unclaimed> unclaimed;
};

std::string agent_exposition(const NodeInventory& node, const CardReadings& readings,
                             const ShareFacts& shares, const ProcessFacts& process);

}  // namespace tessera
