// The PodLogs port over HTTP.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/pod_logs.hpp"

namespace tessera {

class KubePodLogs final : public PodLogs {
  public:
    // `api`: the API server; outlives this.
    explicit KubePodLogs(HttpClient& api) : http_(api) {}

    Result<> print(const PodName& pod, const PodLogOptions& options,
                   const std::function<bool(std::string_view)>& print) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
