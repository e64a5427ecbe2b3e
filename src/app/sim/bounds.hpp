// How much any placement could hold at most after so many of a trace's arrivals, and beside it what
// policies hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/sim/bound_subject.hpp"
#include "app/sim/in_parallel.hpp"
#include "app/sim/replay.hpp"
#include "app/sim/trace_source.hpp"
#include "domain/placement/bound/problem.hpp"
#include "ports/linear_program.hpp"

namespace tessera {

inline constexpr int kAllArrivals = 0;

struct BoundOptions {
    TraceSource source;
    std::shared_ptr<const BoundSubject> subject;  // in place of the source's traces
    std::vector<std::string> traces;
    std::vector<int> seeds;
    // Cards asked for, in percent of all; kAllArrivals for all that arrive.
    std::vector<int> arrivals = {100};
    std::vector<std::string> policies;  // to compare with
    CpuOnlyTasks cpu_only = CpuOnlyTasks::may_be_dropped;
    bool all_placed = false;  // whether to look for BoundRun::all_placed
    int threads = 1;
};

struct PolicyHeld {
    std::string policy;
    double percent = 0;  // of all cards, after the same arrivals
};

struct BoundRun {
    TraceName name;
    int arrivals = 0;       // percent: those of the options
    std::size_t tasks = 0;  // the first so many; the last that still ask for no more than that;
                            // pods of a snapshot
    double asked = 0;       // percent of all cards, as all that follow
    double bound = 0;       // no placement of these tasks holds more
    double gap = 0;         // the linear program's optimum is at most that much below
    int rounds = 0;
    int configurations = 0;
    // From here on some task must be dropped, those without cards counted as well.
    std::optional<double> all_placed;
    std::vector<PolicyHeld> policies;  // in the order of the options
};

// Each trace under each seed and share of the arrivals, each of them once, in the order of the
// options, whatever the threads. A trace's name is that of trace_names(). Nothing runs unless all
// can: errors of reading the files, not_found for a policy. Errors of a run name its trace and,
// but of a snapshot, its seed: those of upper_bound(), and those of the solver.
Result<std::vector<BoundRun>> find_bounds(const BoundOptions& options, const ReadFile& read,
                                          const MakeLinearProgram& make_lp,
                                          const Progress& progress);

}  // namespace tessera
