// The curves of replays as a chart: one panel per trace, and one line per policy with the mean over
// the runs of that trace and policy (one per order of arrival). Both are in the order of first
// appearance.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "simulator/chart/chart.hpp"
#include "simulator/replay/sweep.hpp"

namespace tessera {

struct PlotMetric {
    std::string_view name;   // value of --plot-figure
    std::string_view title;  // title of the vertical axis
    double CurvePoint::* value;
};
inline constexpr std::array kPlotMetrics = {
    PlotMetric{"allocation", "allocated, % of all GPUs", &CurvePoint::allocation},
    PlotMetric{"fragmentation", "FGD's fragmentation, % of all GPUs", &CurvePoint::fragmentation},
};

struct PlotOptions {
    // The requested percentage of all GPUs at which the curves begin: 0 to kLastPercent.
    int from = 80;
    PlotMetric metric = kPlotMetrics[0];
};

// No panels if `runs` is empty.
Chart replay_chart(std::span<const SimRun> runs, const PlotOptions& options);

}  // namespace tessera
