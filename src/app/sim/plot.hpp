// The curves of replays as a chart: a panel per trace, a line per policy, the mean over its
// orders of arrival.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "app/sim/sweep.hpp"
#include "ports/chart.hpp"

namespace tessera {

struct PlotFigure {
    std::string_view name;
    std::string_view title;  // of the upright axis
    double CurvePoint::* value;
};
inline constexpr std::array kPlotFigures = {
    PlotFigure{"allocation", "held, % of all cards", &CurvePoint::allocation},
    PlotFigure{"fragmentation", "FGD's fragmentation, % of all cards", &CurvePoint::fragmentation},
};

struct PlotOptions {
    int from = 80;  // percent of all cards asked for, at which the curves begin
    PlotFigure figure = kPlotFigures[0];
};

Chart run_chart(std::span<const SimRun> runs, const PlotOptions& options);

}  // namespace tessera
