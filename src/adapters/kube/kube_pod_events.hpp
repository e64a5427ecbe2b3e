// The PodEvents port over HTTP.
#pragma once

#include <chrono>

#include "adapters/http/http.hpp"
#include "ports/pod_events.hpp"

namespace tessera {

// One event, stamped with now. Errors as PodEvents::tell.
Result<> post_pod_event(HttpClient& http, const PodEvent& event,
                        std::chrono::milliseconds deadline);

class KubePodEvents final : public PodEvents {
  public:
    explicit KubePodEvents(HttpEndpoint endpoint);

    Result<> tell(const PodEvent& event) override;

  private:
    HttpClient http_;
};

}  // namespace tessera
