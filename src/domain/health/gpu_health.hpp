// Which cards are fit for use. Pure: readings and faults in, states out.
#pragma once

#include <map>
#include <string>

#include "base/ids.hpp"

namespace tessera {

// True for faults that an application causes itself and that leave the card good for the next one.
// The list: api/nvidia/application_xids.def.
bool is_application_fault(int xid);

// What the driver says a card needs before it can be used again (nvmlDeviceGpuRecoveryAction_t);
// older drivers cannot say. `other` is one that is newer than this program.
enum class RecoveryAction { none, reset, reboot, drain_peers, drain_and_reset, other, unknown };

// What a card's memory has gone through. All false where the driver does not say.
struct MemoryFaults {
    bool remap_failed = false;    // rows that could not be replaced: no reset helps
    bool remap_pending = false;   // rows that the next reset replaces
    bool retire_pending = false;  // pages that the next reset takes out
    bool uncorrected = false;     // errors that ECC could not correct, since the last reset

    friend bool operator==(const MemoryFaults&, const MemoryFaults&) = default;
};

// What the driver says of one card at one moment.
struct GpuProbe {
    std::string lost;  // what came in place of an answer; empty when the card answers
    RecoveryAction recovery = RecoveryAction::unknown;
    MemoryFaults memory = {};
};

// How many probes in a row a card that fell off the bus must answer before it counts as back, where
// the driver cannot say so: half a minute at the agent's period.
inline constexpr int kProbesToRecover = 6;

// Whether a fault takes a card out is the driver's to say, by the recovery action that it asks for.
// A driver that cannot say so is judged by the list of Xids, and by the faults of its memory: they
// tell of what happened before this program started. Memory that cannot be repaired counts always.
//
// Remembers faults until the driver says that the card is good again. A driver that cannot say so
// keeps the card out until the agent restarts, but for a card that was off the bus: it answers, so
// it is back (a card with another fault answers all the time).
class GpuHealth {
  public:
    void on_fault(const GpuUuid& gpu, int xid);
    void on_probe(const GpuUuid& gpu, const GpuProbe& probe);

    // Empty when the card is healthy, else the reason.
    [[nodiscard]] std::string reason(const GpuUuid& gpu) const;

  private:
    enum class Kind { fault, lost, needs_recovery, memory };
    struct Trouble {
        Kind kind = Kind::lost;
        int xid = 0;           // of a fault
        std::string detail;    // of a lost card, of what it needs, of its memory
        bool latched = false;  // a fault that this driver will never take back
        int answers = 0;       // probes in a row since the fault
    };
    static bool is_over(Trouble& trouble, RecoveryAction recovery);

    std::map<GpuUuid, Trouble> troubles_;
};

}  // namespace tessera
