// How a run ended, and what it used.
#pragma once

#include <cstdint>

#include "base/quantity.hpp"
#include "domain/usage/share_use.hpp"

namespace tessera {

struct RunUse {
    Bytes most_memory;          // the most that was seen in use
    std::int64_t refusals = 0;  // allocations that the share refused
    GpuTime time;               // while the run's processes had work on the GPU
    bool is_timed = false;      // false: the GPU's time was not shared out, and not measured

    friend bool operator==(const RunUse&, const RunUse&) = default;
};

struct RunEnd {
    int exit_status = 0;       // of the program, or 128 and the signal that ended it
    bool others_live = false;  // processes that it started are alive, and have the share
    std::int64_t wall_ns = 0;
    RunUse use;

    friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

}  // namespace tessera
