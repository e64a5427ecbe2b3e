// Reads and writes one Lease: the one that elects the leading controller, or that of
// kube-scheduler.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "domain/leadership/lease.hpp"

namespace tessera {

class LeaseStore {
  public:
    virtual ~LeaseStore() = default;

    // Nothing if there is no such Lease. Each call ends by its own deadline.
    virtual Result<std::optional<Lease>> read() = 0;
    // Replaces exactly the version that `lease` names, or creates the Lease if it names none.
    // Returns what is stored. conflict: another controller was faster. unavailable: the outcome is
    // unknown, the Lease may have been written.
    virtual Result<Lease> write(const Lease& lease) = 0;
};

}  // namespace tessera
