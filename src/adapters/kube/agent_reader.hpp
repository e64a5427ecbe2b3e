// Asks the agents of a cluster for the use of their nodes' shares, through the API server's pod
// proxy. The caller needs no network access to the nodes. It needs the permissions to list pods in
// Tessera's namespace and to get pods/proxy there (the Role tessera-viewer of the Helm chart).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "domain/mps/mps_report.hpp"
#include "wire/tessera/share_uses_json.hpp"

namespace tessera {

// The list of the agents' pods in Tessera's namespace.
std::string agent_pods_path(const std::string& ns);

// The nodes on which an agent's pod is ready, whatever its namespace. The caller needs the
// permission to list pods in the whole cluster.
Result<std::set<NodeName>> nodes_with_ready_agent(HttpClient& http);

struct AgentAnswer {
    NodeName node;
    Result<std::vector<ShareUse>> shares;
};

// The answers of all agents, or of that on `node`, sorted by node. An error if the agents cannot be
// listed.
Result<std::vector<AgentAnswer>> query_agents(HttpClient& http, const std::string& ns,
                                              const NodeName& node = {});

struct AgentMpsAnswer {
    NodeName node;
    Result<MpsReport> mps;
};

// The same for what the agents know of MPS.
Result<std::vector<AgentMpsAnswer>> query_agents_mps(HttpClient& http, const std::string& ns,
                                                     const NodeName& node = {});

// The logs of MPS of a GPU, from the agent of its node. not_found if no agent runs there.
Result<MpsLogs> query_mps_logs(HttpClient& http, const std::string& ns, const NodeName& node,
                               const GpuUuid& gpu);

}  // namespace tessera
