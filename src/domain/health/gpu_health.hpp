// Which GPUs are healthy. Pure: readings and faults in, states out.
#pragma once

#include <map>
#include <string>

#include "base/ids.hpp"

namespace tessera {

// True for faults that an application causes itself and that leave the GPU usable for the next one.
// The list: api/nvidia/application_xids.def.
bool is_application_fault(int xid);

// What a GPU needs before it can be used again, by the driver (nvmlDeviceGpuRecoveryAction_t).
// Older drivers do not report it. `other` is an action that this program does not know.
enum class RecoveryAction { none, reset, reboot, drain_peers, drain_and_reset, other, unknown };

// Faults of a GPU's memory. All are false if the driver does not report them.
struct MemoryFaults {
    bool remap_failed = false;    // rows that could not be replaced: a reset does not help
    bool remap_pending = false;   // rows that the next reset replaces
    bool retire_pending = false;  // pages that the next reset retires
    bool uncorrected = false;     // errors that ECC could not correct, since the last reset

    friend bool operator==(const MemoryFaults&, const MemoryFaults&) = default;
};

// What the driver reports of one GPU at one moment.
struct GpuProbe {
    std::string lost;  // the driver's error if the GPU does not answer; else empty
    RecoveryAction recovery = RecoveryAction::unknown;
    MemoryFaults memory = {};
};

// The number of successive probes that a GPU which fell off the bus must answer before it counts as
// back, if the driver does not report recovery: half a minute at the agent's period.
inline constexpr int kProbesToRecover = 6;

// The driver's recovery action decides whether a fault takes a GPU out of use. If the driver
// reports no recovery action, the list of Xids and the faults of the GPU's memory decide; the
// latter also show what happened before this program started. Memory that cannot be repaired always
// counts.
//
// Faults are remembered until the driver reports that the GPU is good again. If the driver cannot
// report that, the GPU stays out of use until the agent restarts. The exception is a GPU that was
// off the bus: it is back when it answers, while a GPU with another fault answers all the time.
class GpuHealth {
  public:
    void on_fault(const GpuUuid& gpu, int xid);
    void on_probe(const GpuUuid& gpu, const GpuProbe& probe);

    // Empty if the GPU is healthy, else the reason.
    [[nodiscard]] std::string reason(const GpuUuid& gpu) const;

  private:
    enum class Kind { fault, lost, needs_recovery, memory };
    struct Problem {
        Kind kind = Kind::lost;
        int xid = 0;           // of a fault
        std::string detail;    // of a lost GPU, a recovery action, or its memory
        bool latched = false;  // a fault that this driver never clears
        int answers = 0;       // successive probes that it answered since the fault
    };
    static bool is_over(Problem& problem, RecoveryAction recovery);

    std::map<GpuUuid, Problem> problems_;
};

}  // namespace tessera
