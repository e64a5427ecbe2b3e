// The GPUs of this node, as the driver reports them.
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
    GpuUuid uuid;  // unidentified_gpu(index) if the GPU never reported one
    int index = 0;
    int minor = kMinorUnknown;
    std::string model;        // empty if the driver does not report it
    int compute_major = 0;    // of the compute capability; 0 if the driver does not report it
    int multiprocessors = 0;  // likewise
    Bytes memory;             // 0 if the driver does not report it
    Bytes reserved;
    Bytes
        used;  // by any process; includes the reserve if the driver does not report that separately
    std::string lost;  // the driver's error if the GPU does not answer; else empty
    RecoveryAction recovery = RecoveryAction::unknown;
    MemoryFaults faults;
    GpuSetup setup;
    GpuLinks links;  // that were found once: a link that fails later stays

    friend bool operator==(const GpuReading&, const GpuReading&) = default;
};

// A fault that the driver reported. Without a uuid it applies to every GPU.
struct GpuFault {
    std::optional<GpuUuid> uuid;
    int xid = 0;  // NVIDIA's number of the fault

    friend bool operator==(const GpuFault&, const GpuFault&) = default;
};

// A process that uses a GPU.
struct GpuProcess {
    GpuUuid gpu;
    std::int64_t pid = 0;  // in this program's pid namespace; 0 if it is not visible there
    Bytes used;            // includes its context

    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// Used by one thread at a time, except for read() and processes(), which any thread may call at any
// time.
class GpuInventory {
  public:
    virtual ~GpuInventory() = default;

    // Every GPU that the driver lists, by ascending index. A GPU that does not answer is included,
    // with `lost` set: it has the values that it reported before. If it never reported its UUID,
    // its name is made of its index (unidentified_gpu). unavailable if the driver does not answer.
    virtual Result<std::vector<GpuReading>> read() = 0;
    // Opens the driver's interface again: a driver that was reloaded meanwhile does not answer
    // earlier handles. Errors: unavailable; then every other call fails until this one succeeds.
    virtual Result<> reopen() = 0;
    // Closes the driver, so that it can be unloaded and its GPUs reset: none of its files stays
    // open. Every other call fails until reopen().
    virtual void close() = 0;
    // The compute processes of the GPUs that read() last found and that answer. unsupported if the
    // driver does not report processes.
    virtual Result<std::vector<GpuProcess>> processes() = 0;
    // The next fault, or nothing after `timeout`.
    virtual Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) = 0;
};

}  // namespace tessera
