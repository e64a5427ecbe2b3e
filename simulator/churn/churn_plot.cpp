#include <algorithm>
#include <array>

#include "simulator/churn/churn_sweep.hpp"
#include "simulator/common/estimate.hpp"

namespace tessera {
namespace {

enum class Among { all, moves, gangs };

struct PlotRow {
    std::string_view title;
    std::string_view up;
    double (*of)(const ChurnResult& result);
    Among among = Among::all;  // whether the panel is for all runs, for gangs or for moves
};
constexpr auto kRows = std::to_array<PlotRow>({
    {"allocated", "% of all GPUs", [](const ChurnResult& r) { return 100 * r.allocated; }},
    {"FGD's fragmentation", "% of all GPUs",
     [](const ChurnResult& r) { return 100 * r.fragmentation; }},
    {"tasks that waited", "% of tasks", [](const ChurnResult& r) { return 100 * r.tasks.waited; }},
    {"mean wait", "s", [](const ChurnResult& r) { return r.tasks.mean_wait_s; }},
    {"demand that gave up", "% of requested GPUs",
     [](const ChurnResult& r) { return 100 * r.tasks.abandoned_demand; }},
    {"gangs that waited", "% of gangs", [](const ChurnResult& r) { return 100 * r.gangs.waited; },
     Among::gangs},
    {"mean wait of gangs", "s", [](const ChurnResult& r) { return r.gangs.mean_wait_s; },
     Among::gangs},
    {"demand of gangs that gave up", "% of requested GPUs",
     [](const ChurnResult& r) { return 100 * r.gangs.abandoned_demand; }, Among::gangs},
    {"allocated, less work done again", "% of all GPUs",
     [](const ChurnResult& r) { return 100 * (r.allocated - r.moves->lost_work); }, Among::moves},
    {"evictions", "per 1000 tasks placed",
     [](const ChurnResult& r) { return r.moves->evicted_per_1000(); }, Among::moves},
});

bool is_drawn(const PlotRow& row, std::span<const ChurnRun> runs) {
    switch (row.among) {
        case Among::all:
            return true;
        case Among::moves:
            return std::ranges::all_of(
                runs, [](const ChurnRun& run) { return run.result.moves.has_value(); });
        case Among::gangs:
            return std::ranges::any_of(
                runs, [](const ChurnRun& run) { return run.result.gangs.arrived > 0; });
    }
    return false;
}

std::vector<ChartPoint> line_of(std::span<const ChurnRun> runs, const std::string& policy,
                                std::span<const int> loads, const PlotRow& row) {
    std::vector<ChartPoint> line;
    for (const int load : loads) {
        std::vector<double> values;
        for (const ChurnRun& run : runs) {
            if (run.policy == policy && run.load == load) values.push_back(row.of(run.result));
        }
        const Estimate mean = estimate(values);
        if (!values.empty()) line.push_back({static_cast<double>(load), mean.mean, mean.half});
    }
    return line;
}

}  // namespace

Chart churn_chart(std::span<const ChurnRun> runs) {
    Chart chart{.across = "asked for, % of all GPUs", .ticks = {}, .has_dots = true, .panels = {}};
    std::vector<std::string> policies;
    for (const ChurnRun& run : runs) {
        if (run.load != kAsRecorded &&
            std::ranges::find(chart.ticks, run.load) == chart.ticks.end())
            chart.ticks.push_back(run.load);
        if (std::ranges::find(policies, run.policy) == policies.end())
            policies.push_back(run.policy);
    }
    std::ranges::sort(chart.ticks);
    if (chart.ticks.empty()) return {};
    // The ends of the axis leave room for whole dots, and one load is in the middle.
    chart.from = chart.ticks.front() - 2;
    chart.to = chart.ticks.back() + 2;
    for (const PlotRow& row : kRows) {
        if (!is_drawn(row, runs)) continue;
        ChartPanel panel{.title = std::string(row.title), .up = row.up, .lines = {}};
        for (const std::string& policy : policies)
            panel.lines.emplace_back(policy, line_of(runs, policy, chart.ticks, row));
        chart.panels.push_back(std::move(panel));
    }
    return chart;
}

}  // namespace tessera
