// The PodEvents port over HTTP.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/pod_events.hpp"

namespace tessera {

// One event, stamped with now: its name. Errors as PodEvents::tell.
Result<std::string> post_pod_event(HttpClient& http, const PodEvent& event,
                                   std::chrono::milliseconds deadline);

// What is told of a pod in the same words again is counted in its event (RBAC: patch), so that
// somebody who asks for the same thing again and again does not fill the API server. Who may not
// patch, or was started anew, makes another event.
class KubePodEvents final : public PodEvents {
  public:
    explicit KubePodEvents(HttpEndpoint endpoint);

    Result<> tell(const PodEvent& event) override;

  private:
    struct Known {
        std::string name;
        int count = 0;
    };

    Result<> tell_again(const PodEvent& event, const Known& known);

    HttpClient http_;
    std::mutex mutex_;
    std::map<std::string, Known> known_;  // by all that makes two events alike
};

}  // namespace tessera
