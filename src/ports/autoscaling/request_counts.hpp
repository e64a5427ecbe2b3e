// The counters of requests that pods serve.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "ports/autoscaling/measured_pods.hpp"

namespace tessera {

struct RequestCount {
    PodUid pod;
    std::chrono::nanoseconds at{};  // of the steady clock, when it was read
    std::int64_t unix_s = 0;
    std::int64_t milli = 0;  // thousandths of a request
};

class RequestCounts {
  public:
    virtual ~RequestCounts() = default;

    // Asks pods with an address and a counter, several at the same time. Each has two seconds and
    // a megabyte for its answer; one that gives no number is left out.
    virtual std::vector<RequestCount> read(std::span<const MeasuredPod> pods,
                                           const std::stop_token& stop) = 0;
};

}  // namespace tessera
