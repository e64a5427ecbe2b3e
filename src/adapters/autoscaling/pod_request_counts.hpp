// The RequestCounts port: GETs each pod's metrics at its own address.
#pragma once

#include <span>
#include <vector>

#include "ports/autoscaling/request_counts.hpp"
#include "ports/clock.hpp"

namespace tessera {

class PodRequestCounts final : public RequestCounts {
  public:
    // `clock` outlives this.
    explicit PodRequestCounts(Clock& clock) : clock_(clock) {}

    std::vector<RequestCount> read(std::span<const MeasuredPod> pods,
                                   const std::stop_token& stop) override;

  private:
    Clock& clock_;
};

}  // namespace tessera
