// Which cards are fit for use. Pure: readings and faults in, states out.
#pragma once

#include <map>
#include <string>

#include "base/ids.hpp"

namespace tessera {

// True for faults that an application causes itself and that leave the card good for the next one.
// The list: api/nvidia/application_xids.def.
bool is_application_fault(int xid);

// What the driver says a faulty card needs before it can be used again; older drivers cannot say.
enum class RecoveryAction { none, needed, unknown };

// What the driver says of one card at one moment.
struct GpuProbe {
    std::string lost;  // what came in place of an answer; empty when the card answers
    RecoveryAction recovery = RecoveryAction::unknown;
};

// How many probes in a row a card that fell off the bus must answer before it counts as back, where
// the driver cannot say so: half a minute at the agent's period.
inline constexpr int kProbesToRecover = 6;

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
    enum class Kind { fault, lost, needs_recovery };
    struct Trouble {
        Kind kind = Kind::lost;
        int xid = 0;           // of a fault
        std::string detail;    // of a lost card
        bool latched = false;  // a fault that this driver will never take back
        int answers = 0;       // probes in a row since the fault
    };
    static bool is_over(Trouble& trouble, RecoveryAction recovery);

    std::map<GpuUuid, Trouble> troubles_;
};

}  // namespace tessera
