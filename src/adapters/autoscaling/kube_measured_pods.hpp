// The MeasuredPods port over HTTP. It needs the permission to get and list pods in the cluster.
#pragma once

#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "ports/autoscaling/measured_pods.hpp"

namespace tessera {

class KubeMeasuredPods final : public MeasuredPods {
  public:
    // `api`: the API server; outlives this.
    explicit KubeMeasuredPods(HttpClient& api) : http_(api) {}

    Result<std::vector<MeasuredPod>> select(const std::string& ns,
                                            const std::string& selector) override;
    Result<MeasuredPod> get(const std::string& ns, const std::string& name) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
