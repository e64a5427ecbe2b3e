// The curves of replays as a chart: a panel per trace, and a line per policy with the mean over its
// orders of arrival.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "simulator/chart/chart.hpp"
#include "simulator/replay/sweep.hpp"

namespace tessera {

struct PlotFigure {
    std::string_view name;
    std::string_view title;  // title of the vertical axis
    double CurvePoint::* value;
};
inline constexpr std::array kPlotFigures = {
    PlotFigure{"allocation", "allocated, % of all GPUs", &CurvePoint::allocation},
    PlotFigure{"fragmentation", "FGD's fragmentation, % of all GPUs", &CurvePoint::fragmentation},
};

struct PlotOptions {
    int from = 80;  // requested percentage of all GPUs at which the curves begin
    PlotFigure figure = kPlotFigures[0];
};

Chart run_chart(std::span<const SimRun> runs, const PlotOptions& options);

}  // namespace tessera
