#include "simulator/replay/plot.hpp"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

template <class List, class Key>
auto& at_or_new(List& list, const Key& key, auto name, auto make) {
    const auto at = std::ranges::find(list, key, name);
    if (at != list.end()) return *at;
    list.push_back(make());
    return list.back();
}

// A line through the means; a percentage without tasks has no point.
std::vector<ChartPoint> mean_line(std::span<const SimRun> runs, const std::string& trace,
                                  const std::string& policy, const PlotOptions& options) {
    std::vector<ChartPoint> line;
    for (int percent = options.from; percent <= kLastPercent; ++percent) {
        double sum = 0;
        int count = 0;
        for (const SimRun& run : runs) {
            const CurvePoint& point = run.curve[static_cast<std::size_t>(percent)];
            if (run.name.trace != trace || run.policy != policy || point.tasks == 0) continue;
            sum += point.*options.metric.value;
            ++count;
        }
        if (count > 0) line.push_back({static_cast<double>(percent), sum / count, std::nullopt});
    }
    return line;
}

std::vector<ChartPanel> panels_of(std::span<const SimRun> runs, const PlotOptions& options) {
    std::vector<ChartPanel> panels;
    for (const SimRun& run : runs) {
        ChartPanel& panel = at_or_new(panels, run.name.trace, &ChartPanel::title, [&] {
            return ChartPanel{run.name.trace, options.metric.title, {}};
        });
        at_or_new(panel.lines, run.policy, &ChartLine::first, [&] {
            return ChartLine{run.policy, mean_line(runs, run.name.trace, run.policy, options)};
        });
    }
    return panels;
}

}  // namespace

Chart replay_chart(std::span<const SimRun> runs, const PlotOptions& options) {
    Chart chart{.across = "requested, % of all GPUs",
                .from = static_cast<double>(options.from),
                .to = kLastPercent,
                .ticks = {},
                .panels = panels_of(runs, options)};
    for (int percent = (options.from + 9) / 10 * 10; percent <= kLastPercent; percent += 10)
        chart.ticks.push_back(percent);
    return chart;
}

}  // namespace tessera
