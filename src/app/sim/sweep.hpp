// Many replays, several at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/sim/in_parallel.hpp"
#include "app/sim/replay.hpp"
#include "app/sim/trace_source.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

struct SweepOptions {
    TraceSource source;
    std::vector<std::string> traces;
    std::vector<int> seeds;
    std::vector<std::string> policies;
    std::vector<const FleetPolicyRow*> others;  // that are in no table; after those by name
    std::uint64_t sampling_seed = 0;            // of policies that sample the mix
    int threads = 1;
};

struct SimRun {
    TraceName name;
    std::string policy;
    std::size_t nodes = 0;
    std::size_t arrivals = 0;
    std::size_t dropped = 0;
    std::size_t gangs = 0;
    std::size_t gangs_dropped = 0;
    double seconds = 0;  // of the decisions alone, by the clock
    Curve curve;

    [[nodiscard]] double decisions_per_second() const {
        return seconds > 0 ? static_cast<double>(arrivals) / seconds : 0;
    }
};

// Each trace under each seed and policy, each of them once, in the order of the options, whatever
// the threads. A trace's name is that of trace_names().
// Nothing runs unless all can: errors of load_source(), not_found for a
// policy.
Result<std::vector<SimRun>> sweep(const SweepOptions& options, const ReadFile& read,
                                  const Progress& progress);

}  // namespace tessera
