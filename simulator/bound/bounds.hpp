// The most GPU capacity that any placement could allocate after a given number of a trace's
// arrivals, compared with what policies allocate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/bound/bound_subject.hpp"
#include "simulator/common/in_parallel.hpp"
#include "simulator/replay/replay.hpp"
#include "simulator/upper_bound/linear_program_solver.hpp"
#include "simulator/upper_bound/problem.hpp"
#include "simulator/workload/trace_source.hpp"

namespace tessera {

inline constexpr int kAllArrivals = 0;

struct BoundOptions {
    TraceSource source;
    std::shared_ptr<const BoundSubject> subject;  // replaces the source's traces
    std::vector<std::string> traces;
    std::vector<int> seeds;
    // Requested GPUs, in percent of all GPUs; kAllArrivals means all arrivals.
    std::vector<int> arrivals = {100};
    std::vector<std::string> policies;  // policies to compare with the bound
    CpuOnlyTasks cpu_only = CpuOnlyTasks::may_be_dropped;
    bool all_placed = false;  // whether to compute BoundRun::all_placed
    int threads = 1;
};

struct PolicyAllocation {
    std::string policy;
    double percent = 0;  // of all GPUs, after the same arrivals
};

struct BoundRun {
    TraceName name;
    int arrivals = 0;       // percent, as in the options
    std::size_t tasks = 0;  // the first tasks that request at most that; of a snapshot, pods
    double asked = 0;       // percent of all GPUs, as are the values below
    double bound = 0;       // no placement of these tasks allocates more
    double gap = 0;         // the linear program's optimum is at most this much lower
    int rounds = 0;
    int configurations = 0;
    // From these arrivals on some task must be dropped; tasks without GPUs count as well.
    std::optional<double> all_placed;
    std::vector<PolicyAllocation> policies;  // in the order of the options
};

// One run for each trace, seed and share of the arrivals, each once, in the order of the options,
// with any number of threads. A trace's name is that of trace_names(). Nothing runs unless all runs
// can: errors of reading the files, not_found for a policy. Errors of a run (those of upper_bound()
// and of the solver) name its trace and, except for a snapshot, its seed.
Result<std::vector<BoundRun>> find_bounds(const BoundOptions& options, const ReadFile& read,
                                          const MakeLinearProgram& make_lp,
                                          const Progress& progress);

}  // namespace tessera
