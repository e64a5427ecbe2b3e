// Decides when work may go to a GPU: while the container's balance (region/layout.hpp, Grant) is
// above its outstanding work. Any thread. All functions require that begin() has succeeded
// (process/process.hpp).
#pragma once

#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"

namespace tessera::guard {

// Whether the GPU's time is shared out. If not, call nothing else here.
bool is_timed(int gpu);

// A stream's request for a launch permit.
struct PermitRequest {
    WorkKind kind;
    std::int64_t ahead_ns;  // the work that the stream has already queued,
    std::int64_t about_ns;  // and the work that it is about to get
    bool may_others_be;     // other streams of this process may have work on the GPU
};
// 0: the process has the permit, and its work is outstanding from now on if it is long. Otherwise:
// how long to sleep before the next try.
std::int64_t acquire_permit(int gpu, const PermitRequest& request);
void sleep_ns(std::int64_t ns);
// The time in which the largest debt is paid back at the current rate; kNever if the rate is 0.
inline constexpr std::int64_t kNever = INT64_MAX;
std::int64_t debt_time_ns(int gpu);

}  // namespace tessera::guard
