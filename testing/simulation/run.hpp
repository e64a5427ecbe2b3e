// One run of the simulated cluster, from a seed: troubles for some minutes, then none, until every
// pod has ended and everything is free again. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <string>

#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

struct RunOptions {
    std::uint64_t seed = 0;
    bool keep_log = false;
    Unpromised unpromised;
};

struct Outcome {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    Time simulated{};
    std::uint64_t pods = 0;     // created
    std::uint64_t bound = 0;    // with cards
    std::uint64_t started = 0;  // containers
    std::uint64_t evicted = 0;  // for pods of higher priority
    // truth.hpp: starts on a card that a ghost still had, and starts of ghosts.
    std::uint64_t ghosts_met = 0;
    std::uint64_t ghosts_started = 0;
    FaultCounts faults{};
    std::string violation;  // the first; empty when every promise held
    std::string log;        // where it was kept
};

Outcome run(const RunOptions& options);

}  // namespace tessera::simulation
