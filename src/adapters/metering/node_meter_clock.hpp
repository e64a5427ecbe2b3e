// The MeterClock port, with the clocks of the machine.
#pragma once

#include <string>

#include "base/result.hpp"
#include "ports/metering/meter_clock.hpp"

namespace tessera {

class NodeMeterClock final : public MeterClock {
  public:
    // Errors name the file of the kernel that cannot be read.
    static Result<NodeMeterClock> open();

    [[nodiscard]] MeterTime now() const override;

  private:
    explicit NodeMeterClock(std::string boot) : boot_(std::move(boot)) {}

    std::string boot_;
};

}  // namespace tessera
