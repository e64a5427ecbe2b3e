// The PublishedNodes port over HTTP. The user needs the rights to list pods in Tessera's namespace,
// to list and patch nodes, and to patch nodes/status.
#pragma once

#include <string>
#include <utility>

#include "adapters/http/http.hpp"
#include "ports/kube/published_nodes.hpp"

namespace tessera {

class KubePublishedNodes final : public PublishedNodes {
  public:
    // `api`: the API server; outlives this. `ns`: where the agents run.
    KubePublishedNodes(HttpClient& api, std::string ns) : http_(api), ns_(std::move(ns)) {}

    Result<std::vector<NodeName>> nodes_with_agents() override;
    Result<std::vector<PublishedNode>> list() override;
    Result<> remove(const PublishedNode& node) override;

  private:
    Result<> patch(const std::string& path, std::string body);

    HttpClient& http_;
    std::string ns_;
};

}  // namespace tessera
