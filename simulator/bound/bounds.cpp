#include "simulator/bound/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "simulator/bound/trace_bound.hpp"
#include "simulator/common/each_once.hpp"
#include "simulator/upper_bound/upper_bound.hpp"

namespace tessera {
namespace {

// As a part of all GPUs: 0.3 of the openb nodes' 6,212.
constexpr double kGapPart = 0.3 / 6'212;

struct Job {
    std::shared_ptr<const BoundSubject> subject;
    Result<std::vector<BoundRun>> runs;
};

class BoundFinder {
  public:
    BoundFinder(const BoundOptions& options, std::span<const PlacementPolicyRow* const> policies,
                const MakeLinearProgram& make_lp, const BoundSubject& subject)
        : options_(options),
          policies_(policies),
          make_lp_(make_lp),
          subject_(subject),
          asked_(subject.asked_milli()) {}

    [[nodiscard]] Result<std::vector<BoundRun>> find() const {
        if (subject_.capacity_milli() <= 0)
            return fail(Code::invalid_argument, "no node has a GPU");
        std::vector<BoundRun> runs;
        for (const int arrivals : each_once(options_.arrivals)) {
            TRY(BoundRun run, bound_after(arrivals));
            runs.push_back(std::move(run));
        }
        if (options_.all_placed) {
            TRY(const double percent, all_placed());
            for (BoundRun& run : runs)
                run.all_placed = percent;
        }
        for (const PlacementPolicyRow* policy : policies_) {
            const auto allocated = subject_.allocated_milli(*policy);
            for (BoundRun& run : runs) {
                run.policies.push_back(
                    {std::string(policy->name), percent_of(allocated, run.tasks)});
            }
        }
        return runs;
    }

  private:
    [[nodiscard]] double percent_of_milli(double milli) const {
        return 100 * milli / static_cast<double>(subject_.capacity_milli());
    }
    [[nodiscard]] double percent_of(const std::vector<std::int64_t>& milli,
                                    std::size_t first) const {
        const auto end = milli.begin() + static_cast<std::ptrdiff_t>(first);
        return percent_of_milli(
            static_cast<double>(std::accumulate(milli.begin(), end, std::int64_t{0})));
    }

    [[nodiscard]] SolveLp solver(const BoundProblem& problem) const {
        return [lp = std::shared_ptr(make_lp_(master_rows(problem)))](
                   std::span<const LpColumn> more) { return lp->maximise_with(more); };
    }

    [[nodiscard]] std::size_t first_tasks(int arrivals) const {
        if (arrivals == kAllArrivals) return asked_.size();
        std::size_t tasks = 0;
        double asked = 0;
        while (tasks < asked_.size()) {
            asked += static_cast<double>(asked_[tasks]);
            if (percent_of_milli(asked) > arrivals) break;
            ++tasks;
        }
        return tasks;
    }

    [[nodiscard]] Result<BoundRun> bound_after(int arrivals) const {
        BoundRun run{.name = subject_.name(), .arrivals = arrivals, .tasks = first_tasks(arrivals)};
        const BoundProblem problem = subject_.problem(run.tasks, options_.cpu_only);
        const double gap = kGapPart * static_cast<double>(subject_.capacity_milli()) / kMilliPerGpu;
        TRY(const UpperBound bound, upper_bound(problem, solver(problem), gap));
        run.asked = percent_of(asked_, run.tasks);
        run.bound = percent_of_milli(bound.gpus * kMilliPerGpu);
        // The solver's result may be slightly higher, by rounding.
        run.gap = percent_of_milli(std::max(bound.gpus - bound.reached, 0.0) * kMilliPerGpu);
        run.rounds = bound.rounds;
        run.configurations = bound.configurations;
        return run;
    }

    // If something must be dropped among the first tasks, something must be dropped among more
    // tasks too. So a binary search finds where it begins.
    [[nodiscard]] Result<double> all_placed() const {
        std::size_t fits = 0;
        std::size_t too_many = asked_.size() + 1;
        while (fits + 1 < too_many) {
            const std::size_t middle = fits + (too_many - fits) / 2;
            const BoundProblem problem = subject_.problem(middle, CpuOnlyTasks::are_kept);
            TRY(const bool drops, must_drop(problem, solver(problem)));
            (drops ? too_many : fits) = middle;
        }
        return percent_of(asked_, fits);
    }

    const BoundOptions& options_;
    std::span<const PlacementPolicyRow* const> policies_;
    const MakeLinearProgram& make_lp_;
    const BoundSubject& subject_;
    const std::vector<std::int64_t>& asked_;  // milli
};

Result<std::vector<Job>> jobs_of(const BoundOptions& options, const ReadFile& read) {
    std::vector<Job> jobs;
    if (options.subject) {
        jobs.push_back({options.subject, {}});
        return jobs;
    }
    for (const std::string& trace : trace_names(options.source, options.traces)) {
        for (const int seed : each_once(options.seeds)) {
            const TraceName name{trace, seed};
            TRY(Workload workload, load_source(read, options.source, name));
            jobs.push_back({trace_bound(name, std::move(workload)), {}});
        }
    }
    return jobs;
}

}  // namespace

Result<std::vector<BoundRun>> find_bounds(const BoundOptions& options, const ReadFile& read,
                                          const MakeLinearProgram& make_lp,
                                          const Progress& progress) {
    TRY(const auto policies, find_placement_policies(options.policies));
    TRY(std::vector<Job> jobs, jobs_of(options, read));
    SharedProgress done(progress, jobs.size());
    in_parallel(jobs.size(), options.threads, [&](std::size_t at) {
        jobs[at].runs = BoundFinder(options, policies, make_lp, *jobs[at].subject).find();
        done.one_more();
    });
    std::vector<BoundRun> runs;
    for (Job& job : jobs) {
        if (!job.runs) {
            const TraceName name = job.subject->name();
            // Pods of a snapshot have one order, without a seed.
            const std::string of =
                options.subject ? name.trace : fmt::format("{} seed {}", name.trace, name.seed);
            return fail(job.runs.error().in(of));
        }
        runs.insert(runs.end(), job.runs->begin(), job.runs->end());
    }
    return runs;
}

}  // namespace tessera
