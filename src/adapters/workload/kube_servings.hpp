// The Servings port over HTTP. The user needs the rights to list, create, patch and delete
// deployments, to list, get and create services and configmaps, and to list pods, in the namespace.
// For autoscaling: to list, get, create, patch and delete horizontalpodautoscalers.autoscaling.
// For splits of the traffic by Gateways: to list httproutes.gateway.networking.k8s.io.
// For the GPUs, nodes and their sizes: to list nodes.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/servings.hpp"

namespace tessera {

class KubeServings final : public Servings {
  public:
    // `api`: the API server; outlives this.
    explicit KubeServings(HttpClient& api) : http_(api) {}

    Result<std::vector<workload::ServingStatus>> list(const std::string& ns,
                                                      const std::string& name) override;
    Result<std::string> create(const workload::Serving& job) override;
    Result<> create_service(const workload::Serving& job, const std::string& owner) override;
    Result<> create_files(const workload::Serving& job, const std::string& owner) override;
    Result<> set_scaling(const workload::Serving& job, const std::string& owner) override;
    Result<std::vector<workload::File>> files(const workload::ServingStatus& job) override;
    Result<> update(const workload::Serving& job, const workload::ServingStatus& before,
                    const workload::ServingChange& change) override;
    Result<> remove(const workload::ServingStatus& job) override;
    Result<std::vector<NodeInventory>> nodes() override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
