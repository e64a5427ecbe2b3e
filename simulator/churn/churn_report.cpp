#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "simulator/churn/churn_sweep.hpp"
#include "simulator/common/estimate.hpp"

namespace tessera {
namespace {

struct Figure {
    const char* name;  // name of the column
    const char* key;   // name in JSON and CSV
    double (*of)(const ChurnWaits& waits);
    int places;
};
// A figure of a whole run.
struct RunFigure {
    const char* name;
    const char* key;
    double (*of)(const ChurnResult& result);
    int places;
};
constexpr RunFigure kAllocated{"ALLOC%", "allocatedPercent",
                               [](const ChurnResult& result) { return 100 * result.allocated; }, 3};
constexpr RunFigure kFragments{"FRAG%", "fragmentationPercent",
                               [](const ChurnResult& result) { return 100 * result.fragmentation; },
                               3};
constexpr RunFigure kSpeed{"DECISIONS/S", "decisionsPerSecond",
                           [](const ChurnResult& result) { return result.decisions_per_second(); },
                           0};
constexpr std::array kFigures = {
    Figure{"WAITED%", "waitedPercent", [](const ChurnWaits& w) { return 100 * w.waited; }, 3},
    Figure{"WAIT s", "meanWaitSeconds", [](const ChurnWaits& w) { return w.mean_wait_s; }, 2},
    Figure{"P99 s", "p99WaitSeconds", [](const ChurnWaits& w) { return w.p99_wait_s; }, 0},
    Figure{"GAVE UP%", "abandonedDemandPercent",
           [](const ChurnWaits& w) { return 100 * w.abandoned_demand; }, 3},
};

// A group of tasks with a line of its own.
struct Part {
    const char* suffix;  // to the policy's name
    ChurnWaits ChurnResult::* of;
};
constexpr std::array kParts = {Part{"", &ChurnResult::tasks}, Part{" gangs", &ChurnResult::gangs}};

template <ChurnSize size>
double helped(const ChurnResult& result) {
    return static_cast<double>(result.moves->helped.at(static_cast<std::size_t>(size)));
}

// Figures of runs with moves.
constexpr std::array kMoveFigures = {
    RunFigure{"EVICTED", "evictions",
              [](const ChurnResult& r) { return static_cast<double>(r.moves->evictions); }, 0},
    RunFigure{"PER 1000", "evictionsPer1000Placed",
              [](const ChurnResult& r) { return r.moves->evicted_per_1000(); }, 3},
    RunFigure{"LOST%", "lostWorkPercent",
              [](const ChurnResult& r) { return 100 * r.moves->lost_work; }, 3},
    RunFigure{"USEFUL%", "usefulPercent",
              [](const ChurnResult& r) { return 100 * (r.allocated - r.moves->lost_work); }, 3},
    RunFigure{"HELPED", "helped",
              [](const ChurnResult& r) { return static_cast<double>(r.moves->all_helped()); }, 0},
    RunFigure{"SHARES", "helpedShares", helped<ChurnSize::share>, 0},
    RunFigure{"1 GPU", "helpedOneGpu", helped<ChurnSize::gpu>, 0},
    RunFigure{"2-7", "helpedSeveralGpus", helped<ChurnSize::several>, 0},
    RunFigure{"8 AND MORE", "helpedEightOrMoreGpus", helped<ChurnSize::eight_or_more>, 0},
    RunFigure{"GANGS", "helpedGangs", helped<ChurnSize::gang>, 0},
};

bool has_moves(std::span<const ChurnRun> runs) {
    return std::ranges::any_of(runs,
                               [](const ChurnRun& run) { return run.result.moves.has_value(); });
}

bool any_arrived(std::span<const ChurnRun> runs, const Part& part) {
    return std::ranges::any_of(
        runs, [&](const ChurnRun& run) { return (run.result.*part.of).arrived > 0; });
}

// The runs of one load and policy, one per seed.
std::span<const ChurnRun> group_of(std::span<const ChurnRun> runs, const ChurnRun& like) {
    const auto is_like = [&](const ChurnRun& run) {
        return run.load == like.load && run.policy == like.policy;
    };
    const auto first = std::ranges::find_if(runs, is_like);
    const auto last = std::find_if_not(first, runs.end(), is_like);
    return {first, last};
}

// The first run of each group, in order.
std::vector<const ChurnRun*> groups(std::span<const ChurnRun> runs) {
    std::vector<const ChurnRun*> out;
    for (const ChurnRun& run : runs) {
        if (out.empty() || out.back()->load != run.load || out.back()->policy != run.policy)
            out.push_back(&run);
    }
    return out;
}

using Value = std::function<double(const ChurnResult& result)>;

std::string text_of(const Estimate& estimate, int places) {
    if (!estimate.half) return fmt::format("{:.{}f}", estimate.mean, places);
    return fmt::format("{:.{}f} ±{:.{}f}", estimate.mean, places, *estimate.half, places);
}

Estimate mean_of(std::span<const ChurnRun> runs, const Value& value) {
    std::vector<double> values;
    for (const ChurnRun& run : runs)
        values.push_back(value(run.result));
    return estimate(values);
}

// Compares runs with the same seeds, so that the chance that they share cancels out.
Estimate difference(std::span<const ChurnRun> runs, std::span<const ChurnRun> base,
                    const Value& value) {
    // If the value is the same for every seed, there is only one run.
    const auto of = [&](std::span<const ChurnRun> all, std::size_t seed) {
        return value(all[all.size() == 1 ? 0 : seed].result);
    };
    std::vector<double> values;
    for (std::size_t seed = 0; seed < std::max(runs.size(), base.size()); ++seed)
        values.push_back(of(runs, seed) - of(base, seed));
    return estimate(values);
}

// Appends a text, aligned to its column, after a space.
void add_cell(std::string& line, std::string_view text) {
    constexpr std::size_t kWidth = 17;
    // "±" takes two bytes and one column.
    const std::size_t columns = text.size() - (text.find("±") == std::string::npos ? 0 : 1);
    line += fmt::format("  {}{}", std::string(columns < kWidth ? kWidth - columns : 0, ' '), text);
}

std::string load_text(int load) {
    return load == kAsRecorded ? std::string(kAsRecordedText) : std::to_string(load);
}

// The widths of the first columns.
struct Widths {
    std::size_t load = 5;
    std::size_t policy = 6;
};

std::string line_begin(std::string_view load, std::string_view policy, const Widths& width) {
    return fmt::format("{:>{}}  {:<{}}", load, width.load, policy, width.policy);
}

std::string head_of(const Widths& width) {
    std::string line = line_begin("LOAD%", "POLICY", width) + fmt::format("  {:>8}", "ARRIVED");
    for (const RunFigure& figure : {kAllocated, kFragments})
        add_cell(line, figure.name);
    for (const Figure& figure : kFigures)
        add_cell(line, figure.name);
    return line + fmt::format("  {:>11}\n", kSpeed.name);
}

using EstimateOf = std::function<Estimate(const Value& value)>;

// A line per group of tasks with arrivals; `estimate_of` computes what is shown of a value.
// Allocation and fragmentation belong to the whole run, not to a group.
std::string lines_of(std::span<const ChurnRun> runs, const Widths& width, bool is_difference,
                     const EstimateOf& estimate_of) {
    const ChurnRun& one = runs.front();
    std::string text;
    for (const Part& part : kParts) {
        const bool is_first = &part == &kParts.front();
        if (!is_first && !any_arrived(runs, part)) continue;
        const auto count = [&](const ChurnResult& result) {
            return static_cast<double>((result.*part.of).arrived);
        };
        const std::string arrived =
            is_difference ? "" : fmt::format("{:.0f}", estimate_of(count).mean);
        text += line_begin(load_text(one.load), one.policy + part.suffix, width) +
                fmt::format("  {:>8}", arrived);
        for (const RunFigure& figure : {kAllocated, kFragments})
            add_cell(text, text_of(estimate_of(figure.of), figure.places));
        for (const Figure& figure : kFigures) {
            const auto value = [&](const ChurnResult& result) {
                return figure.of(result.*part.of);
            };
            add_cell(text, text_of(estimate_of(value), figure.places));
        }
        if (is_first && !is_difference)
            text += fmt::format("  {:>11.0f}", estimate_of(kSpeed.of).mean);
        text += "\n";
    }
    return text;
}

std::string moves_table(std::span<const ChurnRun> runs, const Widths& width) {
    std::string text =
        "\nmoves that made room for waiting tasks\n" + line_begin("LOAD%", "POLICY", width);
    for (const RunFigure& figure : kMoveFigures)
        add_cell(text, figure.name);
    text += "\n";
    for (const ChurnRun* one : groups(runs)) {
        text += line_begin(load_text(one->load), one->policy, width);
        for (const RunFigure& figure : kMoveFigures)
            add_cell(text, text_of(mean_of(group_of(runs, *one), figure.of), figure.places));
        text += "\n";
    }
    return text;
}

std::string differences(std::span<const ChurnRun> runs, const ChurnRun& base, const Widths& width) {
    std::string text;
    for (const ChurnRun* one : groups(runs)) {
        if (one->policy == base.policy) continue;
        ChurnRun like = base;
        like.load = one->load;
        const auto group = group_of(runs, *one);
        text += lines_of(group, width, true, [&](const Value& value) {
            return difference(group, group_of(runs, like), value);
        });
    }
    if (text.empty()) return text;
    return fmt::format("\ndifference to {}, seed by seed\n", base.policy) + text;
}

}  // namespace

std::string churn_table(std::span<const ChurnRun> runs) {
    const std::size_t more =
        any_arrived(runs, kParts.back()) ? std::strlen(kParts.back().suffix) : 0;
    Widths width;
    for (const ChurnRun& run : runs) {
        width.load = std::max(width.load, load_text(run.load).size());
        width.policy = std::max(width.policy, run.policy.size() + 2 + more);
    }
    std::string text = head_of(width);
    const ChurnRun* base = nullptr;
    for (const ChurnRun* one : groups(runs)) {
        if (base == nullptr || base->load != one->load) base = one;
        const auto group = group_of(runs, *one);
        text += lines_of(group, width, false,
                         [&](const Value& value) { return mean_of(group, value); });
    }
    if (base == nullptr) return text;
    text += differences(runs, *base, width);
    if (has_moves(runs)) text += moves_table(runs, width);
    const bool is_one_seed = std::ranges::any_of(groups(runs), [&](const ChurnRun* one) {
        return one->load != kAsRecorded && group_of(runs, *one).size() == 1;
    });
    if (is_one_seed) text += "\nintervals need more than one seed: set --seeds to 2 or more\n";
    return text;
}

std::string churn_csv(std::span<const ChurnRun> runs) {
    const bool has_gangs = any_arrived(runs, kParts.back());
    std::vector<RunFigure> behind{kFragments};
    if (has_moves(runs)) behind.insert(behind.end(), kMoveFigures.begin(), kMoveFigures.end());
    behind.push_back(kSpeed);
    std::string text = fmt::format("load,policy,seed,arrived,{}", kAllocated.key);
    for (const Figure& figure : kFigures)
        text += fmt::format(",{}", figure.key);
    if (has_gangs) text += ",gangsArrived";
    for (const Figure& figure : kFigures)
        text += has_gangs ? fmt::format(",{}OfGangs", figure.key) : "";
    for (const RunFigure& figure : behind)
        text += fmt::format(",{}", figure.key);
    text += "\n";
    for (const ChurnRun& run : runs) {
        text += fmt::format("{},{},{},{},{:.6f}", load_text(run.load), run.policy, run.seed,
                            run.result.tasks.arrived, kAllocated.of(run.result));
        for (const Figure& figure : kFigures)
            text += fmt::format(",{:.6f}", figure.of(run.result.tasks));
        if (has_gangs) text += fmt::format(",{}", run.result.gangs.arrived);
        for (const Figure& figure : kFigures)
            text += has_gangs ? fmt::format(",{:.6f}", figure.of(run.result.gangs)) : "";
        for (const RunFigure& figure : behind)
            text += fmt::format(",{:.6f}", figure.of(run.result));
        text += "\n";
    }
    return text;
}

std::string churn_json(std::span<const ChurnRun> runs) {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array();
    for (const ChurnRun& run : runs) {
        Json row;
        if (run.load == kAsRecorded) {
            row["load"] = kAsRecordedText;
        } else {
            row["loadPercent"] = run.load;
        }
        row["policy"] = run.policy;
        row["seed"] = run.seed;
        row["arrived"] = run.result.tasks.arrived;
        row[kAllocated.key] = kAllocated.of(run.result);
        for (const Figure& figure : kFigures)
            row[figure.key] = figure.of(run.result.tasks);
        if (run.result.gangs.arrived > 0) {
            Json gangs = {{"arrived", run.result.gangs.arrived}};
            for (const Figure& figure : kFigures)
                gangs[figure.key] = figure.of(run.result.gangs);
            row["gangs"] = std::move(gangs);
        }
        row[kFragments.key] = kFragments.of(run.result);
        if (run.result.moves) {
            Json moves;
            for (const RunFigure& figure : kMoveFigures)
                moves[figure.key] = figure.of(run.result);
            moves["planAttempts"] = run.result.moves->plan_attempts;
            moves["planDeviations"] = run.result.moves->deviations;
            row["moves"] = std::move(moves);
        }
        row[kSpeed.key] = kSpeed.of(run.result);
        rows.push_back(std::move(row));
    }
    return Json{{"runs", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace tessera
