// The Evictions port over HTTP.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/evictions.hpp"

namespace tessera {

class KubeEvictions final : public Evictions {
  public:
    explicit KubeEvictions(HttpEndpoint endpoint);

    Result<> may_evict(const PodUid& uid, const PodName& pod) override;
    Result<> evict(const PodUid& uid, const PodName& pod, const PodName& preemptor) override;
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) override;

  private:
    HttpClient http_;
};

}  // namespace tessera
