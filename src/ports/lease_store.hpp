// The one Lease that elects a leader.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "domain/leadership/lease.hpp"

namespace tessera {

class LeaseStore {
  public:
    virtual ~LeaseStore() = default;

    // Nothing when there is no such Lease. Each call ends by its own deadline.
    virtual Result<std::optional<Lease>> read() = 0;
    // Replaces exactly the version that `lease` names, or makes the Lease where it names none;
    // returns what is stored. conflict: somebody else was faster. unavailable: the answer is
    // unknown, it may have been written.
    virtual Result<Lease> write(const Lease& lease) = 0;
};

}  // namespace tessera
