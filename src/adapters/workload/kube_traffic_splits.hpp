// The TrafficSplits port over HTTP. The user needs the rights to get, create and patch services, or
// httproutes.gateway.networking.k8s.io, to list gateways.gateway.networking.k8s.io, and to patch
// deployments and pods, in the namespace.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/traffic_splits.hpp"

namespace tessera {

class KubeTrafficSplits final : public TrafficSplits {
  public:
    // `api`: the API server; outlives this.
    explicit KubeTrafficSplits(HttpClient& api) : http_(api) {}

    Result<std::vector<workload::GatewayName>> gateways(const std::string& ns) override;
    Result<std::optional<workload::TrafficRoute>> route(
        const std::string& name, std::span<const workload::ServingStatus> jobs) override;
    Result<> write(const workload::TrafficRoute& wanted,
                   const std::optional<workload::TrafficRoute>& before) override;
    Result<std::optional<workload::SharedServiceState>> service(
        const std::string& name, std::span<const workload::ServingStatus> jobs) override;
    Result<> write(const workload::SharedService& wanted,
                   const std::optional<workload::SharedServiceState>& before) override;
    Result<> remove(const workload::TrafficRoute& route) override;
    Result<> remove(const workload::SharedServiceState& service) override;
    Result<> set_part(const workload::ServingStatus& job, bool in_split,
                      std::optional<int> replicas) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
