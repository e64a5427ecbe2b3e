// The MigrationCluster port over HTTP. The user needs the rights to list pods, nodes and
// daemonsets, to get daemonsets, deployments and mutatingwebhookconfigurations, and to patch nodes
// and nodes/status.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "adapters/http/http.hpp"
#include "ports/kube/migration_cluster.hpp"
#include "wire/text/json.hpp"

namespace tessera {

class KubeMigration final : public MigrationCluster {
  public:
    // `api`: the API server; outlives this. `ns`: where Tessera runs.
    KubeMigration(HttpClient& api, std::string ns) : http_(api), ns_(std::move(ns)) {}

    Result<migration::Facts> read() override;
    Result<migration::Node> read_node(const NodeName& name) override;
    Result<> write(const migration::Node& node, const migration::NodeChange& change) override;

  private:
    Result<JsonDocument> get(const std::string& path);
    // Nothing if it does not exist.
    Result<std::optional<JsonDocument>> find(const std::string& path);
    Result<std::optional<JsonDocument>> find_agents();
    Result<> read_daemon_sets(migration::Facts& facts);
    Result<> read_controller(migration::Facts& facts);
    Result<> read_pods(migration::Facts& facts);

    HttpClient& http_;
    std::string ns_;
};

}  // namespace tessera
