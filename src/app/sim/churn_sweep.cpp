#include "app/sim/churn_sweep.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace tessera {
namespace {

// All runs with the same tasks.
struct Job {
    int load;
    std::uint64_t seed;
};

}  // namespace

Result<std::vector<ChurnRun>> churn_sweep(const ChurnSweepOptions& options, const ReadFile& read,
                                          const Progress& progress) {
    std::vector<const FleetPolicyRow*> policies;
    for (const std::string& name : options.policies) {
        TRY(const FleetPolicyRow* row, find_fleet_policy(name));
        policies.push_back(row);
    }
    TRY(const Workload workload, load_workload(read, options.folder, options.trace));
    const double begin = options.longest_s;
    const double end = begin + options.days * 86'400;
    const auto tasks_of = [&](const Job& job) {
        return churn_tasks(workload, {.load = job.load / 100.0,
                                      .longest_s = options.longest_s,
                                      .ends_s = end,
                                      .seed = job.seed});
    };
    // What is wrong with the trace is wrong for every seed.
    TRY_VOID(churn_tasks(workload, {.load = 0, .longest_s = options.longest_s}));

    std::vector<Job> jobs;
    std::vector<ChurnRun> runs;
    const auto seeds = static_cast<std::size_t>(options.seeds);
    for (const int load : options.loads) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            jobs.push_back({load, seed});
        for (const std::string& policy : options.policies) {
            for (std::uint64_t seed = 1; seed <= seeds; ++seed)
                runs.push_back({load, policy, seed, {}});
        }
    }
    std::atomic<std::size_t> next = 0;
    std::mutex reporting;
    std::size_t done = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < jobs.size(); at = next++) {
            const auto tasks = tasks_of(jobs[at]);
            for (std::size_t policy = 0; policy < policies.size(); ++policy) {
                const std::size_t run =
                    (at / seeds * policies.size() + policy) * seeds + at % seeds;
                runs[run].result = churn(
                    workload, *tasks, {begin, end, options.patience_s}, *policies[policy],
                    {.draws = static_cast<int>(jobs[at].seed), .sampling = options.sampling_seed});
                const std::lock_guard lock(reporting);
                progress(++done, runs.size());
            }
        }
    };
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(options.threads));
    for (int i = 0; i < options.threads; ++i)
        threads.emplace_back(work);
    threads.clear();
    return runs;
}

}  // namespace tessera
