// The Evictions port over HTTP.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/evictions.hpp"

namespace tessera {

class KubeEvictions final : public Evictions {
  public:
    // `api`: the API server; outlives this.
    explicit KubeEvictions(HttpClient& api) : http_(api) {}

    Result<bool> may_evict(const PodUid& uid, const PodName& pod) override;
    Result<bool> evict(const PodUid& uid, const PodName& pod) override;
    Result<> mark_preempted(const PodUid& uid, const PodName& pod,
                            const PodName& preemptor) override;
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node) override;
    Result<> nominate_ahead(const PodUid& uid, const PodName& pod, const NodeName& node) override;
    Result<> withdraw(const PodUid& uid, const PodName& pod, const NodeName& node) override;

  private:
    Result<bool> post_eviction(const PodUid& uid, const PodName& pod, bool dry_run);
    // An empty `manager`: the API server names it after the user agent.
    Result<> patch_status(const PodName& pod, const std::string& body, const char* content_type,
                          std::string_view manager = {});

    HttpClient& http_;
};

}  // namespace tessera
