// The MetricsRegistrations port over HTTP, with the rights of the ClusterRole and the Role
// tessera-custom-metrics of the Helm chart.
#pragma once

#include <optional>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/autoscaling/metrics_registrations.hpp"

namespace tessera {

class KubeMetricsRegistrations final : public MetricsRegistrations {
  public:
    // `api`: the API server; outlives this.
    explicit KubeMetricsRegistrations(HttpClient& api) : http_(api) {}

    Result<FrontProxy> front_proxy() override;
    Result<std::optional<MetricsRegistration>> read(const std::string& version) override;
    // The ClusterRole tessera-custom-metrics owns the registration, so it ends when the chart is
    // uninstalled, or the API is switched off.
    Result<> create(const MetricsRegistration& registration) override;
    Result<> trust(const MetricsRegistration& read, const std::string& certificates) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
