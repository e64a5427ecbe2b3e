// A GPU share that `tessera run` gave to a program on this machine.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

struct RunLease {
    GpuUuid gpu;
    int gpu_index = 0;                    // by the driver, when the run started
    Bytes memory;                         // the share
    Percent cores;                        // guarantee; 0: none
    Percent cores_limit = kNoCoresLimit;  // the most that the run gets
    std::int64_t pid = 0;                 // of the program
    std::int64_t start_ticks = 0;  // when that process started (wire/node/process_status.hpp)
    std::int64_t started_unix_ns = 0;
    std::string command;  // the program's command line, for people

    friend bool operator==(const RunLease&, const RunLease&) = default;
};

// A run whose processes live, and what it uses now.
struct LiveRun {
    std::string id;  // the name of its folder; unique among live runs
    RunLease lease;
    std::int64_t uid = 0;           // the user
    bool is_program_alive = false;  // false: only processes that the program started are alive
    Bytes used;                     // by its processes
    std::int64_t refusals = 0;      // allocations that the share refused
    bool is_damaged = false;        // its processes damaged the accounts: `used` is not known

    friend bool operator==(const LiveRun&, const LiveRun&) = default;
};

}  // namespace tessera
