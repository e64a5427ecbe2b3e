// The controller's thread that tells users which annotations of their pods nobody reads.
#pragma once

#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "app/scheduler/slip_teller.hpp"

namespace tessera {

// Ends when it is destroyed.
class SlipTelling {
  public:
    // `api`: the API server's endpoint.
    SlipTelling(const HttpEndpoint& api, Keeper& keeper, Clock& clock,
                std::function<bool(std::chrono::nanoseconds)> begin_write)
        : events_(api),
          teller_({events_, keeper, clock, std::move(begin_write)}),
          thread_([this](const std::stop_token& stop) { teller_.run(stop); }) {}

  private:
    KubePodEvents events_;
    SlipTeller teller_;
    std::jthread thread_;
};

}  // namespace tessera
