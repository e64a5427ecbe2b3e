// The controller's thread that answers the wishes of running pods' users.
#pragma once

#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/kube/kube_pod_resizes.hpp"
#include "app/scheduler/resizer.hpp"

namespace tessera {

// What a Resizer needs but the API server, whose endpoint is `api`.
struct ResizingTools {
    const HttpEndpoint& api;
    Keeper& keeper;
    SchedulerMetrics& metrics;
    Clock& clock;
    const AllocationSeal* seal = nullptr;
    std::function<bool(std::chrono::nanoseconds)> begin_write;
};

class Resizing {
  public:
    explicit Resizing(const ResizingTools& with)
        : pods_(with.api, with.seal),
          events_(with.api),
          resizer_({pods_, events_, with.keeper, with.metrics, with.clock, with.seal,
                    with.begin_write}) {}

    void begin() {
        thread_ = std::jthread([this](const std::stop_token& stop) { resizer_.run(stop); });
    }
    // Nothing is written afterwards.
    void end() { thread_ = {}; }

  private:
    KubePodResizes pods_;
    KubePodEvents events_;
    Resizer resizer_;
    std::jthread thread_;
};

}  // namespace tessera
