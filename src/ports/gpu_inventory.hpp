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
#include "domain/cluster/node.hpp"
#include "domain/health/gpu_health.hpp"
#include "domain/health/shareable.hpp"

namespace tessera {

struct GpuReading {
    GpuUuid uuid;  // unidentified_gpu(index) where the card never said it
    int index = 0;
    int minor = kMinorUnknown;
    std::string model;  // empty where the driver does not say
    Bytes memory;       // 0 where the driver does not say
    Bytes reserved;
    Bytes used;        // by whoever; a driver that cannot tell counts the reserve too
    std::string lost;  // what the driver says in place of an answer; empty when the card answers
    RecoveryAction recovery = RecoveryAction::unknown;
    MemoryFaults faults;
    GpuSetup setup;
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

// Used by one thread at a time, except for read() and processes(), which any may call at any time.
class GpuInventory {
  public:
    virtual ~GpuInventory() = default;

    // Every card that the driver lists, ascending index. A card that does not answer is among them,
    // lost: with what it said before, or, where it never said who it is, by a name made of its
    // index (unidentified_gpu). unavailable when the driver does not answer.
    virtual Result<std::vector<GpuReading>> read() = 0;
    // Reopens the driver's interface: a driver that was reloaded since the last time answers
    // no earlier user. Errors: unavailable; then every other call fails until this one succeeds.
    virtual Result<> reopen() = 0;
    // Lets go of the driver, so that it can be unloaded and its cards reset: no file of it is open
    // afterwards. Every other call fails until reopen().
    virtual void close() = 0;
    // Those that compute, of the cards that read() last found and that answer. unsupported where
    // the driver does not say.
    virtual Result<std::vector<GpuProcess>> processes() = 0;
    // The next fault, or nothing when `timeout` passes.
    virtual Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) = 0;
};

}  // namespace tessera
