#include "simulator/churn/churn_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "simulator/common/each_once.hpp"

namespace tessera {
namespace {

// All runs with the same tasks.
struct Job {
    struct Run {
        const PlacementPolicyRow* policy;
        std::size_t at;  // index among all runs
    };
    int load;
    std::uint64_t seed;
    std::vector<Run> runs;
};

// Whether another seed places the same tasks differently.
bool is_random(const PlacementPolicyRow& policy) {
    return policy.make({})->tie() != Tie::first_in_order;
}

struct Scene {
    std::vector<ChurnTask> tasks;
    ChurnWindow window;
};

// `workload` and `options` outlive this.
class Scenes {
  public:
    Scenes(const Workload& workload, const ChurnSweepOptions& options)
        : workload_(workload), options_(options) {}

    // Requires that check() succeeds for the job.
    [[nodiscard]] Scene of(const Job& job) const {
        if (job.load == kAsRecorded) {
            auto tasks = *recorded_tasks(workload_);
            double end = 0;
            for (const ChurnTask& task : tasks)
                end = std::max(end, task.comes_s + task.lasts_s);
            // The end is after the last arrival, so that task is measured too.
            return {std::move(tasks), {0, std::nextafter(end, end + 1), options_.patience_s}};
        }
        const ChurnOptions options = tasks_asked(job);
        return {*churn_tasks(workload_, options),
                {options_.longest_s, options.ends_s, options_.patience_s}};
    }

    // Whether this job's tasks can be made; makes none.
    [[nodiscard]] Result<> check(const Job& job) const {
        if (job.load != kAsRecorded) return check_churn_tasks(workload_, tasks_asked(job));
        TRY_VOID(recorded_tasks(workload_));
        return {};
    }

  private:
    [[nodiscard]] ChurnOptions tasks_asked(const Job& job) const {
        return {.load = job.load / 100.0,
                .longest_s = options_.longest_s,
                .ends_s = options_.longest_s + options_.days * 86'400,
                .seed = job.seed};
    }

    const Workload& workload_;
    const ChurnSweepOptions& options_;
};

// Runs with moves take minutes, so their progress is reported in percent.
constexpr std::size_t kParts = 100;

class RunProgress {
  public:
    explicit RunProgress(SharedProgress& all) : all_(all) {}

    void reach(double part) {
        const auto parts = static_cast<std::size_t>(part * kParts);
        if (parts <= reported_) return;
        all_.more(parts - reported_);
        reported_ = parts;
    }

  private:
    SharedProgress& all_;
    std::size_t reported_ = 0;
};

}  // namespace

Result<int> read_load(std::string_view text) {
    constexpr int kMost = 200;
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    if (text == kAsRecordedText) return kAsRecorded;
    int percent = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), percent);
    const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    if (is_whole && percent >= 1 && percent <= kMost) return percent;
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is neither a percentage from 1 to {} nor {}", text, kMost,
                            kAsRecordedText));
}

Result<std::vector<ChurnRun>> churn_sweep(const ChurnSweepOptions& options, const ReadFile& read,
                                          const Progress& progress) {
    TRY(const auto policies, find_placement_policies(options.policies));
    TRY(const Workload workload, load_source(read, options.source, options.trace));
    const Scenes scenes(workload, options);
    // An error of the trace is the same for every seed.
    for (const int load : options.loads)
        TRY_VOID(scenes.check({load, 1, {}}));

    std::vector<ChurnRun> runs;
    std::vector<Job> jobs;
    const auto seeds = static_cast<std::uint64_t>(options.seeds);
    for (const int load : each_once(options.loads)) {
        const std::size_t first = jobs.size();
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            jobs.push_back({load, seed, {}});
        for (const PlacementPolicyRow* policy : policies) {
            const bool is_one = load == kAsRecorded && !is_random(*policy);
            for (std::uint64_t seed = 1; seed <= (is_one ? 1 : seeds); ++seed) {
                jobs[first + seed - 1].runs.push_back({policy, runs.size()});
                runs.push_back({load, std::string(policy->name), seed, {}});
            }
        }
    }
    SharedProgress done(progress, runs.size() * kParts);
    in_parallel(jobs.size(), options.threads, [&](std::size_t at) {
        const Job& job = jobs[at];
        if (job.runs.empty()) return;
        const Scene scene = scenes.of(job);
        for (const auto& [policy, run] : job.runs) {
            RunProgress one(done);
            runs[run].result =
                churn(workload, scene.tasks, scene.window, *policy,
                      {.draws = static_cast<int>(job.seed), .sampling = options.sampling_seed},
                      options.moves, [&](double part) { one.reach(part); });
            one.reach(1);
        }
    });
    return runs;
}

}  // namespace tessera
