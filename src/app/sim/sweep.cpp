#include "app/sim/sweep.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace tessera {
namespace {

struct Job {
    const Workload* workload;
    const FleetPolicyRow* policy;
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
    run.curve = curve_of(*job.workload, placed);
}

}  // namespace

Result<std::vector<SimRun>> sweep(const SweepOptions& options, const ReadFile& read,
                                  const Progress& progress) {
    std::vector<const FleetPolicyRow*> policies;
    for (const std::string& name : options.policies) {
        TRY(const FleetPolicyRow* row, find_fleet_policy(name));
        policies.push_back(row);
    }
    policies.insert(policies.end(), options.others.begin(), options.others.end());
    std::vector<Workload> workloads;
    workloads.reserve(options.traces.size() * options.seeds.size());  // jobs point into it
    std::vector<Job> jobs;
    for (const std::string& trace : options.traces) {
        for (const int seed : options.seeds) {
            const TraceName name{trace, seed};
            TRY(Workload workload, load_workload(read, options.folder, name));
            workloads.push_back(std::move(workload));
            for (const FleetPolicyRow* policy : policies) {
                jobs.push_back({&workloads.back(),
                                policy,
                                {.name = name, .policy = std::string(policy->name)}});
            }
        }
    }
    std::atomic<std::size_t> next = 0;
    std::mutex reporting;
    std::size_t done = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < jobs.size(); at = next++) {
            carry_out(jobs[at], options.sampling_seed);
            const std::lock_guard lock(reporting);
            progress(++done, jobs.size());
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int i = 1; i < options.threads; ++i)
            threads.emplace_back(work);
        work();
    }
    std::vector<SimRun> runs;
    runs.reserve(jobs.size());
    for (Job& job : jobs)
        runs.push_back(std::move(job.run));
    return runs;
}

}  // namespace tessera
