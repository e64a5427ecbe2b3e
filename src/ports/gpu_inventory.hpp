// The cards of this node, as the driver tells.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera {

// What the driver says a faulty card needs before it can be used again.
enum class RecoveryAction { none, needed, unknown };

struct GpuReading {
    GpuUuid uuid;
    int index = 0;
    int minor = 0;
    std::string model;
    Bytes memory;
    Bytes reserved;
    bool lost = false;  // the card does not answer
    RecoveryAction recovery = RecoveryAction::unknown;

    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

// A fault that the driver reported. Without a uuid it concerns every card.
struct GpuFault {
    std::optional<GpuUuid> uuid;
    int xid = 0;  // NVIDIA's number of the fault
};

// Used by one thread at a time, except for read(), which any may call.
class GpuInventory {
  public:
    virtual ~GpuInventory() = default;

    // Ascending index. unavailable when the driver does not answer.
    virtual Result<std::vector<GpuReading>> read() = 0;
    // The next fault, or nothing when `timeout` passes.
    virtual Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) = 0;
};

}  // namespace tessera
