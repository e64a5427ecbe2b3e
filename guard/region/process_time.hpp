// What a process reports about its time on a GPU. A tenant may write any number there.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Until when to believe what the process reports about its work in flight and its waiting threads.
std::int64_t believed_until(const ProcessTime& time);
// How long a process has had work of a kind by `now`.
std::int64_t in_flight_ns(const InFlight& of, std::int64_t now);

// A finished piece of work. One word holds the GPU, the kind and the duration (18 minutes at most).
struct WorkInterval {
    std::int64_t start_ns;
    std::int64_t ns;
    int gpu;
    WorkKind kind;
};
std::uint64_t pack_interval(const WorkInterval& interval);
WorkInterval unpack_interval(std::int64_t start_ns, std::uint64_t what);

}  // namespace tessera::guard
