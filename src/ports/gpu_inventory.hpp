// The cards of this node, as the driver tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/cluster/links.hpp"
#include "domain/health/gpu_health.hpp"

namespace tessera {

struct GpuReading {
    GpuUuid uuid;
    int index = 0;
    int minor = 0;
    std::string model;
    Bytes memory;
    Bytes reserved;
    Bytes used;        // by whoever; a driver that cannot tell counts the reserve too
    std::string lost;  // what the driver says in place of an answer; empty when the card answers
    RecoveryAction recovery = RecoveryAction::unknown;
    CardLinks links;  // that were found once: one that fails later is there still

    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

// A fault that the driver reported. Without a uuid it concerns every card.
struct GpuFault {
    std::optional<GpuUuid> uuid;
    int xid = 0;  // NVIDIA's number of the fault

    friend bool operator==(const GpuFault&, const GpuFault&) = default;
};

// A process that uses a card.
struct GpuProcess {
    GpuUuid card;
    std::int64_t pid = 0;  // as this program sees it; 0 where it does not
    Bytes used;            // its context too

    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// Used by one thread at a time, except for read() and processes(), which any may call.
class GpuInventory {
  public:
    virtual ~GpuInventory() = default;

    // Ascending index. A card that answered once and now does not is among them, lost; one that
    // never said who it is is not. unavailable when the driver does not answer.
    virtual Result<std::vector<GpuReading>> read() = 0;
    // Those that compute, of the cards that read() last found and that answer. unsupported where
    // the driver does not say.
    virtual Result<std::vector<GpuProcess>> processes() = 0;
    // The next fault, or nothing when `timeout` passes.
    virtual Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) = 0;
};

}  // namespace tessera
