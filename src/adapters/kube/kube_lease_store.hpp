// The LeaseStore port: a coordination.k8s.io/v1 Lease of the API server. write() creates it, or
// sends a merge patch with its resourceVersion: the labels and annotations of other programs stay,
// and a version that is no longer the newest is a conflict. Each call ends within 1.5 s. Errors:
// those of kube_call (kube_call.hpp). Any thread may call.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/lease_store.hpp"

namespace tessera {

class KubeLeaseStore final : public LeaseStore {
  public:
    // For the Lease `ns`/`name`. `api` is a client of the API server and outlives this.
    KubeLeaseStore(HttpClient& api, std::string ns, std::string name);

    Result<std::optional<Lease>> read() override;
    Result<Lease> write(const Lease& lease) override;

  private:
    HttpClient& api_;
    const std::string ns_;
    const std::string name_;
    const std::string leases_path_;
};

}  // namespace tessera
