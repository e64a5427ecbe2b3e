// What the agents of a cluster say of their nodes' shares, asked through the API server's proxy of
// pods: who asks needs no way to the nodes, but the rights to list pods in Tessera's namespace and
// to get pods/proxy there (deploy/listening/viewer.yaml).
#pragma once

#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "wire/share_uses_json.hpp"

namespace tessera {

struct AgentAnswer {
    NodeName node;
    Result<std::vector<ShareUse>> shares;
};

// Of all nodes with an agent, or of one: by node. An error where the agents cannot be listed.
Result<std::vector<AgentAnswer>> ask_agents(const HttpEndpoint& api, const std::string& space,
                                            const NodeName& node = {});

}  // namespace tessera
