// The PodEvents port over HTTP.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "adapters/http/http.hpp"
#include "base/mutex.hpp"
#include "ports/kube/pod_events.hpp"

namespace tessera {

// Writes one event with the current time and returns its name. Errors as PodEvents::tell.
Result<std::string> post_pod_event(HttpClient& http, const PodEvent& event,
                                   std::chrono::milliseconds deadline);

// An event with the same text for the same pod increases the count of the first one (RBAC: patch).
// So a user who repeats a request does not fill the API server. Without the permission to patch, or
// after a restart, a new event is written.
class KubePodEvents final : public PodEvents {
  public:
    // `api`: the API server; outlives this.
    explicit KubePodEvents(HttpClient& api) : http_(api) {}

    Result<> tell(const PodEvent& event) override;

  private:
    struct Known {
        std::string name;
        int count = 0;
    };

    Result<> tell_again(const PodEvent& event, const Known& known);

    HttpClient& http_;
    Mutex mutex_;
    // By all fields that make two events equal.
    std::map<std::string, Known> known_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
