// The PodResizes port over HTTP. Writes by pods/status: the controller has that right anyhow, and
// the API server takes annotations there too.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/pod_resizes.hpp"
#include "wire/allocation_seal.hpp"

namespace tessera {

class KubePodResizes final : public PodResizes {
  public:
    // With a seal, which outlives this, only allocations that it signed are believed.
    explicit KubePodResizes(HttpEndpoint endpoint, const AllocationSeal* seal);

    Result<Shown> read(const PodName& pod) override;
    Result<> write(const PodUid& uid, const PodName& pod, const std::string& version,
                   const StringMap& annotations) override;
    Result<> wish(const PodUid& uid, const PodName& pod, const std::string& version,
                  const std::string& text) override;

  private:
    HttpClient http_;
    const AllocationSeal* seal_;
};

}  // namespace tessera
