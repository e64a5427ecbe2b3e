// One run of the simulated cluster, from a seed: some minutes with faults, and then without, until
// every pod has ended and all GPUs are free again. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <string>

#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

struct RunOptions {
    std::uint64_t seed = 0;
    bool keep_log = false;
    UnprotectedFaults unpromised;
};

struct Outcome {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    Time simulated{};
    std::uint64_t pods = 0;       // pods created
    std::uint64_t bound = 0;      // pods bound with GPUs
    std::uint64_t started = 0;    // containers started
    std::uint64_t evicted = 0;    // pods evicted for pods of higher priority
    std::uint64_t nominated = 0;  // nominations, also those of other programs
    std::uint64_t followed = 0;   // pods bound to the node that they were nominated to
    // ground_truth.hpp: starts on a GPU that an orphaned container still used, and starts of
    // orphaned containers.
    std::uint64_t orphans_met = 0;
    std::uint64_t orphans_started = 0;
    FaultCounts faults{};
    std::string violation;  // the first one; empty if there was none
    std::string log;        // empty unless keep_log
};

Outcome run(const RunOptions& options);

}  // namespace tessera::simulation
