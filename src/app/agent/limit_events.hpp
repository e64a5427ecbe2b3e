// Tells a pod's user when a container of his first reaches its limit of GPU memory: what the
// program says of it is often no more than "out of memory", as if the card were full.
#pragma once

#include <chrono>
#include <stop_token>

#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

inline constexpr std::chrono::seconds kLimitLook{2};

// An event for each container that was refused memory since it was first held, once in its pod's
// life, unless the agent is killed between telling and noting it. What cannot be told is tried
// again at the next look.
void tell_of_limits(ShareHolder& shares, PodEvents& events);

// Every kLimitLook, until `stop`.
void watch_limits(ShareHolder& shares, PodEvents& events, Clock& clock,
                  const std::stop_token& stop);

}  // namespace tessera
