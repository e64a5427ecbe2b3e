// Runs of arriving and ending tasks under several loads, policies and seeds, several at a time; and
// their results with intervals.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/chart/chart.hpp"
#include "simulator/churn/churn.hpp"
#include "simulator/common/in_parallel.hpp"
#include "simulator/workload/trace_source.hpp"

namespace tessera {

// A load: the trace's recorded times, each pod once, from the first arrival to the last end.
inline constexpr int kAsRecorded = 0;
inline constexpr std::string_view kAsRecordedText = "as-recorded";

// Parses "90" or kAsRecordedText; blanks at the ends are ignored. invalid_argument for other texts.
Result<int> read_load(std::string_view text);

struct ChurnSweepOptions {
    TraceSource source;
    TraceName trace;         // the trace's pods, and its nodes in the tie order of that seed
    std::vector<int> loads;  // percent of all GPUs, or kAsRecorded
    std::vector<std::string> policies;
    // Number of random arrival sequences, with the seeds 1, 2, ... For kAsRecorded the arrivals are
    // fixed: one run with seed 1, unless the policy breaks ties at random.
    int seeds = 10;
    std::uint64_t sampling_seed = 0;
    double longest_s = 86'400;
    double days = 3;  // measured days; a warm-up of the longest run time precedes them
    double patience_s = 3'600;
    std::optional<MoveRules> moves;  // nothing: no task is moved
    int threads = 1;
};

struct ChurnRun {
    int load = 0;  // percent, or kAsRecorded
    std::string policy;
    std::uint64_t seed = 0;
    ChurnResult result;
};

// In the order of loads, then policies, then seeds, each once. A seed has the same tasks for all
// policies. Errors as load_source, churn_tasks and find_placement_policy.
Result<std::vector<ChurnRun>> churn_sweep(const ChurnSweepOptions& options, const ReadFile& read,
                                          const Progress& progress);

// A line per load and policy: the means, and the differences to the first policy, seed by seed.
std::string churn_table(std::span<const ChurnRun> runs);
std::string churn_csv(std::span<const ChurnRun> runs);
std::string churn_json(std::span<const ChurnRun> runs);
// A panel per figure over the load, and a line per policy. As-recorded runs have no load and are
// left out.
Chart churn_chart(std::span<const ChurnRun> runs);

}  // namespace tessera
