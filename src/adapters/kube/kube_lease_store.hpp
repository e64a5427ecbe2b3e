// The LeaseStore port over HTTP.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/lease_store.hpp"

namespace tessera {

class KubeLeaseStore final : public LeaseStore {
  public:
    // The Lease `name` in the namespace `space`.
    KubeLeaseStore(HttpEndpoint endpoint, std::string space, std::string name);

    Result<std::optional<Lease>> read() override;
    Result<Lease> write(const Lease& lease) override;

  private:
    HttpClient http_;
    const std::string space_;
    const std::string name_;
    const std::string folder_;
};

}  // namespace tessera
