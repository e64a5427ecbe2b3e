// The objects by which the API server passes requests of the custom metrics API on.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "domain/autoscaling/metrics_api.hpp"

namespace tessera {

// Any thread may call. Each call ends by its own deadline.
class MetricsRegistrations {
  public:
    virtual ~MetricsRegistrations() = default;

    // How the API server authenticates itself.
    virtual Result<FrontProxy> front_proxy() = 0;
    // The registration of a version of the group; nothing if there is none.
    virtual Result<std::optional<MetricsRegistration>> read(const std::string& version) = 0;
    // conflict: there is one already. not_found: the role that owns it is gone.
    virtual Result<> create(const MetricsRegistration& registration) = 0;
    // Makes the API server trust these certificates. conflict: it was changed since it was read.
    virtual Result<> trust(const MetricsRegistration& read, const std::string& certificates) = 0;
};

}  // namespace tessera
