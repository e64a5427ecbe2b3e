// The clocks that GPU time is measured with.
#pragma once

#include "domain/metering/usage_meter.hpp"

namespace tessera {

class MeterClock {
  public:
    virtual ~MeterClock() = default;

    // Any thread.
    [[nodiscard]] virtual MeterTime now() const = 0;
};

}  // namespace tessera
