// Tasks that come and go, under several loads, policies and seeds, several at a time; and what they
// come to, with what is due to chance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/sim/churn.hpp"
#include "app/sim/in_parallel.hpp"
#include "app/sim/trace_source.hpp"
#include "ports/chart.hpp"

namespace tessera {

// A load: the trace's own times, each pod once, from when the first came to when the last ended.
inline constexpr int kAsRecorded = 0;
inline constexpr std::string_view kAsRecordedText = "as-recorded";

// "90", or kAsRecordedText; blanks at the ends do not count. invalid_argument.
Result<int> read_load(std::string_view text);

struct ChurnSweepOptions {
    TraceSource source;
    TraceName trace;         // its pods, and its nodes in the tie order of that seed
    std::vector<int> loads;  // percent of all cards, or kAsRecorded
    std::vector<std::string> policies;
    // 1, 2, ... of who comes when. As recorded they come when they came: one run of seed 1, but for
    // policies that draw lots.
    int seeds = 10;
    std::uint64_t sampling_seed = 0;
    double longest_s = 86'400;
    double days = 3;  // measured, after one time the longest that is not
    double patience_s = 3'600;
    std::optional<MoveRules> moves;  // nothing: nobody is moved
    int threads = 1;
};

struct ChurnRun {
    int load = 0;  // percent, or kAsRecorded
    std::string policy;
    std::uint64_t seed = 0;
    ChurnResult result;
};

// Loads outermost, then policies, each once, then seeds. The same seed has the same tasks for all
// policies. Errors as load_source, churn_tasks and find_fleet_policy.
Result<std::vector<ChurnRun>> churn_sweep(const ChurnSweepOptions& options, const ReadFile& read,
                                          const Progress& progress);

// A line per load and policy: the means, and the differences to the first policy, seed by seed.
std::string churn_table(std::span<const ChurnRun> runs);
std::string churn_csv(std::span<const ChurnRun> runs);
std::string churn_json(std::span<const ChurnRun> runs);
// A panel per figure, over the load, a line per policy. Runs as recorded have no load, and are left
// out.
Chart churn_chart(std::span<const ChurnRun> runs);

}  // namespace tessera
