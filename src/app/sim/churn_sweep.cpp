#include "app/sim/churn_sweep.hpp"

#include <algorithm>

namespace tessera {
namespace {

// All runs with the same tasks.
struct Job {
    int load;
    std::uint64_t seed;
};

// In the order of their first.
std::vector<int> each_once(std::span<const int> loads) {
    std::vector<int> out;
    for (const int load : loads) {
        if (std::ranges::find(out, load) == out.end()) out.push_back(load);
    }
    return out;
}

}  // namespace

Result<std::vector<ChurnRun>> churn_sweep(const ChurnSweepOptions& options, const ReadFile& read,
                                          const Progress& progress) {
    TRY(const auto policies, find_fleet_policies(options.policies));
    TRY(const Workload workload, load_source(read, options.source, options.trace));
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
    for (const int load : each_once(options.loads)) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            jobs.push_back({load, seed});
        for (const FleetPolicyRow* policy : policies) {
            for (std::uint64_t seed = 1; seed <= seeds; ++seed)
                runs.push_back({load, std::string(policy->name), seed, {}});
        }
    }
    SharedProgress done(progress, runs.size());
    in_parallel(jobs.size(), options.threads, [&](std::size_t at) {
        const auto tasks = tasks_of(jobs[at]);
        for (std::size_t policy = 0; policy < policies.size(); ++policy) {
            const std::size_t run = (at / seeds * policies.size() + policy) * seeds + at % seeds;
            runs[run].result =
                churn(workload, *tasks, {begin, end, options.patience_s}, *policies[policy],
                      {.draws = static_cast<int>(jobs[at].seed), .sampling = options.sampling_seed},
                      options.moves);
            done.one_more();
        }
    });
    return runs;
}

}  // namespace tessera
