// The custom metrics API behind the controllers' Service (custom_metrics): every replica answers
// it, and the leader registers it with the API server.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "adapters/autoscaling/agent_metrics.hpp"
#include "adapters/autoscaling/kube_measured_pods.hpp"
#include "adapters/autoscaling/kube_metrics_registrations.hpp"
#include "adapters/autoscaling/pod_request_counts.hpp"
#include "adapters/http/http.hpp"
#include "adapters/kube/kube_authority_objects.hpp"
#include "app/common/periodic.hpp"
#include "app/scheduler/custom_metrics/custom_metrics_api.hpp"
#include "app/scheduler/custom_metrics/metrics_registrar.hpp"
#include "app/scheduler/custom_metrics/request_rates.hpp"
#include "app/scheduler/custom_metrics/use_sampler.hpp"
#include "app/scheduler/http/route_table.hpp"
#include "programs/service/service_port.hpp"

namespace tessera {

class CustomMetrics {
  public:
    // All references outlive this.
    CustomMetrics(HttpClient& api, Clock& clock, bool is_on, const ServicePortOptions& service,
                  const WriteFence& fence)
        : is_on_(is_on),
          objects_(api, {.ns = service.service.ns, .secret = service.secret}),
          registrations_(api),
          pods_(api),
          reports_(api, clock, service.service.ns),
          sampler_(reports_, clock),
          counts_(clock),
          rates_(counts_, clock),
          api_(sampler_, rates_, pods_),
          registrar_(
              {registrations_, objects_, service.service.ns + "/" + service.service.name, fence}),
          sampling_(clock, UseSampler::kPeriod,
                    [this](const std::stop_token& stop) { sampler_.run_round(stop); }),
          counting_(clock, RequestRates::kPeriod,
                    [this](const std::stop_token& stop) { rates_.run_round(stop); }),
          registering_(clock, MetricsRegistrar::kPeriod,
                       [this](const std::stop_token&) { registrar_.run_round(); }) {}

    CustomMetrics(const CustomMetrics&) = delete;
    CustomMetrics& operator=(const CustomMetrics&) = delete;

    void start() {
        if (!is_on_) return;
        sampling_.start();
        counting_.start();
        registering_.start();
    }
    // Nothing is written after this returns.
    void stop() {
        registering_.stop();
        counting_.stop();
        sampling_.stop();
    }

    // For AccessOptions and ServicePort; empty if it is off. This outlives them.
    [[nodiscard]] std::function<bool(std::string_view)> front_proxy_check() const {
        if (!is_on_) return {};
        return [this](std::string_view name) { return registrar_.front_proxy().allows(name); };
    }
    [[nodiscard]] ServicePort::ClientAuthorities client_authorities() const {
        if (!is_on_) return {};
        return [this] { return registrar_.front_proxy().client_ca; };
    }

    // Any thread may call. Other requests have not passed the check of the API server's
    // certificate.
    [[nodiscard]] bool takes(std::string_view method, std::string_view path) const {
        const RouteRow* const row = find_route(path);
        return is_on_ && method == "GET" && row != nullptr && row->route == Route::custom_metrics;
    }
    RouteAnswer answer(const HttpRequest& request) {
        return api_.answer(request.path, request.query);
    }

  private:
    const bool is_on_;
    KubeAuthorityObjects objects_;
    KubeMetricsRegistrations registrations_;
    KubeMeasuredPods pods_;
    AgentMetrics reports_;
    UseSampler sampler_;
    PodRequestCounts counts_;
    RequestRates rates_;
    CustomMetricsApi api_;
    MetricsRegistrar registrar_;
    Periodic sampling_;
    Periodic counting_;
    Periodic registering_;
};

}  // namespace tessera
