// The DefragCluster port over HTTP.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/defrag_cluster.hpp"

namespace tessera {

class KubeDefrag final : public DefragCluster {
  public:
    // `api`: the API server; outlives this.
    explicit KubeDefrag(HttpClient& api) : http_(api) {}

    Result<defrag::ClusterObjects> read() override;
    Result<std::vector<defrag::PodState>> pods_of(const std::string& ns) override;
    Result<> evict(const PodUid& uid, const PodName& pod) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
