// The LeaseStore port over HTTP.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/lease_store.hpp"

namespace tessera {

class KubeLeaseStore final : public LeaseStore {
  public:
    // The Lease `name` in the namespace `ns`.
    // `api`: the API server; outlives this.
    KubeLeaseStore(HttpClient& api, std::string ns, std::string name);

    Result<std::optional<Lease>> read() override;
    Result<Lease> write(const Lease& lease) override;

  private:
    HttpClient& http_;
    const std::string ns_;
    const std::string name_;
    const std::string folder_;
};

}  // namespace tessera
