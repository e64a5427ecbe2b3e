// The PodResizes port over HTTP. It writes through pods/status, because the controller has that
// permission anyway, and the API server accepts annotations there too.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/pod_resizes.hpp"
#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

class KubePodResizes final : public PodResizes {
  public:
    // With a seal, which must outlive this object, only allocations that it signed are accepted.
    // `api`: the API server; outlives this.
    explicit KubePodResizes(HttpClient& api, const AllocationSeal* seal);

    Result<Shown> read(const PodName& pod) override;
    Result<> write(const PodUid& uid, const PodName& pod, const std::string& version,
                   const StringMap& annotations) override;
    Result<> request(const PodUid& uid, const PodName& pod, const std::string& version,
                     const std::string& text) override;

  private:
    HttpClient& http_;
    const AllocationSeal* seal_;
};

}  // namespace tessera
