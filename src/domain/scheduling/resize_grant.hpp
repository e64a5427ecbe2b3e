// Grants a resize request if the pod's node has room for it.
#pragma once

#include <span>

#include "base/result.hpp"
#include "domain/allocation/resize.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// The pod's node. The states of its GPUs contain what other pods have, without this pod's own
// shares.
struct ResizeRoom {
    std::span<const Gpu> gpus;
    std::span<const GpuState> states;  // parallel
    MemoryUnit unit = MemoryUnit::gib;
};

// unsupported, with a text for the user, if a container of the request has whole GPUs.
Result<> check_has_shares(const RequestedShares& requested, const Allocation& now);

// The allocation that grants the request: `now` with other amounts and the next revision. A larger
// amount must fit on its GPU beside the other pods; a smaller one is always granted. Errors are
// texts for the user: not_found (a container without a share), unsupported (a whole GPU),
// invalid_argument (amounts that are never possible), unavailable (it does not fit now, or the GPU
// is out of use).
Result<Allocation> resize(const Allocation& now, const RequestedShares& requested,
                          const ResizeRoom& room);

}  // namespace tessera
