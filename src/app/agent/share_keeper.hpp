// Looks after what was made to hold this node's containers: nothing of it stays of pods that
// kubelet has forgotten (it forgets when it next gives out devices).
#pragma once

#include <chrono>
#include <stop_token>

#include "ports/clock.hpp"
#include "ports/kubelet.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

inline constexpr std::chrono::seconds kForget{10};

// Until `stop`.
void keep_shares(ShareHolder& shares, DeviceHolders& record, Clock& clock,
                 const std::stop_token& stop);

}  // namespace tessera
