#include "simulator/replay/sweep.hpp"

#include <algorithm>
#include <chrono>

#include "simulator/common/each_once.hpp"

namespace tessera {
namespace {

struct Job {
    const Workload* workload;
    const PlacementPolicyRow* policy;
    SimRun run;
};

void carry_out(Job& job, std::uint64_t sampling_seed) {
    using Clock = std::chrono::steady_clock;
    SimRun& run = job.run;
    const auto start = Clock::now();
    const auto placed =
        replay(*job.workload, *job.policy, {.draws = run.name.seed, .sampling = sampling_seed});
    run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    run.nodes = job.workload->nodes.size();
    run.arrivals = placed.size();
    run.dropped = static_cast<std::size_t>(
        std::ranges::count_if(placed, [](const Placed& one) { return one.node < 0; }));
    for (std::size_t i = 0; i < job.workload->together.size(); ++i) {
        if (job.workload->together[i] < 2) continue;
        ++run.gangs;
        run.gangs_dropped += placed[i].node < 0 ? 1 : 0;
    }
    run.curve = curve_of(*job.workload, placed);
}

}  // namespace

Result<std::vector<SimRun>> sweep(const SweepOptions& options, const ReadFile& read,
                                  const Progress& progress) {
    TRY(auto policies, find_placement_policies(options.policies));
    policies.insert(policies.end(), options.others.begin(), options.others.end());
    std::vector<Workload> workloads;
    const auto traces = trace_names(options.source, options.traces);
    const auto seeds = each_once(options.seeds);
    workloads.reserve(traces.size() * seeds.size());  // jobs point into it
    std::vector<Job> jobs;
    for (const std::string& trace : traces) {
        for (const int seed : seeds) {
            const TraceName name{trace, seed};
            TRY(Workload workload, load_source(read, options.source, name));
            workloads.push_back(std::move(workload));
            for (const PlacementPolicyRow* policy : policies) {
                jobs.push_back({&workloads.back(),
                                policy,
                                {.name = name, .policy = std::string(policy->name)}});
            }
        }
    }
    SharedProgress done(progress, jobs.size());
    in_parallel(jobs.size(), options.threads, [&](std::size_t at) {
        carry_out(jobs[at], options.sampling_seed);
        done.one_more();
    });
    std::vector<SimRun> runs;
    runs.reserve(jobs.size());
    for (Job& job : jobs)
        runs.push_back(std::move(job.run));
    return runs;
}

}  // namespace tessera
