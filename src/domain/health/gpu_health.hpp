// Which cards are fit for use. Pure: readings and faults in, states out.
#pragma once

#include <map>
#include <string>

#include "base/ids.hpp"

namespace tessera {

// True for faults that an application causes itself and that leave the card good for the next one.
// Source: NVIDIA's Xid catalogue; the same list as NVIDIA's device plugin (research/nvidia.md
// §1.6).
bool is_application_fault(int xid);

// What the driver says of one card at one moment.
struct GpuProbe {
    bool lost = false;
    bool needs_recovery = false;  // the driver says so
    bool recovered = false;       // the driver says that nothing is needed
};

// Remembers faults until the driver says that the card is good again. A driver that cannot say so
// keeps the card out until the agent restarts.
class GpuHealth {
  public:
    void on_fault(const GpuUuid& gpu, int xid);
    void on_probe(const GpuUuid& gpu, const GpuProbe& probe);

    // Empty when the card is healthy, else the reason.
    [[nodiscard]] std::string reason(const GpuUuid& gpu) const;

  private:
    std::map<GpuUuid, std::string> reasons_;
};

}  // namespace tessera
