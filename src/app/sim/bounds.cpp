#include "app/sim/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "app/sim/replay.hpp"
#include "domain/placement/bound/upper_bound.hpp"

namespace tessera {
namespace {

// 0.005 percent of the openb nodes' 6,212 cards.
constexpr double kGapCards = 0.3;

struct Job {
    TraceName name;
    Workload workload;
    Result<std::vector<BoundRun>> runs;
};

// Of one trace and seed.
class BoundFinder {
  public:
    BoundFinder(const BoundOptions& options, std::span<const FleetPolicyRow* const> policies,
                const MakeLinearProgram& make_lp, const Job& job)
        : options_(options), policies_(policies), make_lp_(make_lp), job_(job) {
        for (const NodeShape& node : job.workload.nodes)
            capacity_ += static_cast<double>(node.cards) * kMilliPerCard;
    }

    [[nodiscard]] Result<std::vector<BoundRun>> find() const {
        if (capacity_ <= 0) return fail(Code::invalid_argument, "no node has a card");
        std::vector<BoundRun> runs;
        for (const int arrivals : options_.arrivals) {
            TRY(BoundRun run, bound_after(arrivals));
            runs.push_back(std::move(run));
        }
        if (options_.all_placed) {
            TRY(const double percent, all_placed());
            for (BoundRun& run : runs)
                run.all_placed = percent;
        }
        for (const FleetPolicyRow* policy : policies_) {
            const auto placed = replay(job_.workload, *policy, {.draws = job_.name.seed});
            for (BoundRun& run : runs)
                run.policies.push_back({std::string(policy->name), held(placed, run.tasks)});
        }
        return runs;
    }

  private:
    [[nodiscard]] std::span<const Task> first(std::size_t tasks) const {
        return std::span(job_.workload.arrivals).first(tasks);
    }
    [[nodiscard]] double percent_of_milli(double milli) const { return 100 * milli / capacity_; }

    [[nodiscard]] SolveLp solver(const BoundProblem& problem) const {
        return [lp = std::shared_ptr(make_lp_(master_rows(problem)))](
                   std::span<const LpColumn> more) { return lp->maximise_with(more); };
    }

    [[nodiscard]] Result<BoundRun> bound_after(int arrivals) const {
        BoundRun run{.name = job_.name, .arrivals = arrivals};
        double asked = 0;
        for (const Task& task : job_.workload.arrivals) {
            if (percent_of_milli(asked + milli_of(task)) > arrivals) break;
            asked += milli_of(task);
            ++run.tasks;
        }
        const BoundProblem problem =
            bound_problem(job_.workload.nodes, first(run.tasks), options_.cpu_only);
        TRY(const UpperBound bound, upper_bound(problem, solver(problem), kGapCards));
        run.asked = percent_of_milli(asked);
        run.bound = percent_of_milli(bound.cards * kMilliPerCard);
        run.gap = percent_of_milli((bound.cards - bound.reached) * kMilliPerCard);
        run.rounds = bound.rounds;
        run.configurations = bound.configurations;
        return run;
    }

    // What must be dropped among the first tasks must be among more of them: halving finds where it
    // begins.
    [[nodiscard]] Result<double> all_placed() const {
        std::size_t fits = 0;
        std::size_t too_many = job_.workload.arrivals.size() + 1;
        while (fits + 1 < too_many) {
            const std::size_t middle = fits + (too_many - fits) / 2;
            const BoundProblem problem =
                bound_problem(job_.workload.nodes, first(middle), CpuOnlyTasks::are_kept);
            TRY(const bool drops, must_drop(problem, solver(problem)));
            (drops ? too_many : fits) = middle;
        }
        double asked = 0;
        for (const Task& task : first(fits))
            asked += milli_of(task);
        return percent_of_milli(asked);
    }

    [[nodiscard]] double held(const std::vector<Placed>& placed, std::size_t tasks) const {
        double milli = 0;
        for (std::size_t i = 0; i < tasks; ++i)
            if (placed[i].node >= 0) milli += milli_of(job_.workload.arrivals[i]);
        return percent_of_milli(milli);
    }

    const BoundOptions& options_;
    std::span<const FleetPolicyRow* const> policies_;
    const MakeLinearProgram& make_lp_;
    const Job& job_;
    double capacity_ = 0;  // milli
};

Result<std::vector<Job>> jobs_of(const BoundOptions& options, const ReadFile& read) {
    std::vector<Job> jobs;
    if (options.workload) {
        jobs.push_back({{"snapshot", 0}, *options.workload, {}});
        return jobs;
    }
    for (const std::string& trace : options.traces) {
        for (const int seed : options.seeds) {
            const TraceName name{trace, seed};
            TRY(Workload workload, load_source(read, options.source, name));
            jobs.push_back({name, std::move(workload), {}});
        }
    }
    return jobs;
}

}  // namespace

Result<std::vector<BoundRun>> find_bounds(const BoundOptions& options, const ReadFile& read,
                                          const MakeLinearProgram& make_lp,
                                          const Progress& progress) {
    TRY(const auto policies, find_fleet_policies(options.policies));
    TRY(std::vector<Job> jobs, jobs_of(options, read));
    SharedProgress done(progress, jobs.size());
    in_parallel(jobs.size(), options.threads, [&](std::size_t at) {
        jobs[at].runs = BoundFinder(options, policies, make_lp, jobs[at]).find();
        done.one_more();
    });
    std::vector<BoundRun> runs;
    for (Job& job : jobs) {
        if (!job.runs) {
            return fail(
                job.runs.error().in(fmt::format("{} seed {}", job.name.trace, job.name.seed)));
        }
        runs.insert(runs.end(), job.runs->begin(), job.runs->end());
    }
    return runs;
}

}  // namespace tessera
