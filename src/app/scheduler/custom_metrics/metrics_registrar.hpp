// Registers the custom metrics API with the API server, unless another adapter serves it, and knows
// the client by which the API server passes requests on.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "app/scheduler/leader/write_fence.hpp"
#include "base/mutex.hpp"
#include "ports/autoscaling/metrics_registrations.hpp"
#include "ports/kube/authority_objects.hpp"

namespace tessera {

struct MetricsRegistrarPorts {
    MetricsRegistrations& registrations;
    AuthorityObjects& certificates;  // with the authority of the Service's certificate
    std::string service;             // NAMESPACE/NAME, behind which the API is served
    WriteFence fence;
};

class MetricsRegistrar {
  public:
    static constexpr std::chrono::seconds kPeriod{30};
    // The lease of a leader is not much longer.
    static constexpr std::chrono::seconds kWriteTakes{5};

    // All references outlive this.
    explicit MetricsRegistrar(MetricsRegistrarPorts ports) : ports_(std::move(ports)) {}

    // Reads how the API server authenticates itself. The leader then registers the API, or corrects
    // the certificates of its registration. It never changes the registration of another Service.
    // One thread, every kPeriod. A failure is logged, and the next round tries again.
    void run_round();

    // Any thread may call the following functions.
    [[nodiscard]] FrontProxy front_proxy() const;

  private:
    Result<> learn_front_proxy();
    Result<> register_api();

    const MetricsRegistrarPorts ports_;
    std::string fault_;  // the last logged one, as long as it lasts
    mutable Mutex mutex_;
    FrontProxy front_proxy_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
