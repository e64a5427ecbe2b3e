// Many replays, several at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/placement/engine/policy.hpp"
#include "simulator/common/in_parallel.hpp"
#include "simulator/replay/replay.hpp"
#include "simulator/workload/trace_source.hpp"

namespace tessera {

struct SweepOptions {
    TraceSource source;
    std::vector<std::string> traces;
    std::vector<int> seeds;
    std::vector<std::string> policies;
    std::vector<const PlacementPolicyRow*> others;  // in no table; after the named policies
    std::uint64_t sampling_seed = 0;                // for policies that sample the mix
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
    double seconds = 0;  // wall-clock time of the decisions only
    Curve curve;

    [[nodiscard]] double decisions_per_second() const {
        return seconds > 0 ? static_cast<double>(arrivals) / seconds : 0;
    }
};

// One run for each trace, seed and policy, each once, in the order of the options, with any number
// of threads. A trace's name is that of trace_names(). Nothing runs unless all runs can: errors of
// load_source(), not_found for a policy.
Result<std::vector<SimRun>> sweep(const SweepOptions& options, const ReadFile& read,
                                  const Progress& progress);

}  // namespace tessera
