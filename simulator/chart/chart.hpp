// The data of a chart: panels, each with one line per name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

struct ChartPoint {
    double across = 0;
    double up = 0;
    std::optional<double> half;  // half of the error bar's height, in the unit of `up`
};
// The name is the legend's text. Names must be unique.
using ChartLine = std::pair<std::string, std::vector<ChartPoint>>;

struct ChartPanel {
    std::string title;
    std::string_view up;  // title of the vertical axis
    std::vector<ChartLine> lines;
};

struct Chart {
    std::string_view
        // Title of the horizontal axis, which goes from `from` to `to` with a number at each tick.
        across;
    double from = 0;
    double to = 1;
    std::vector<int> ticks;
    bool has_dots = false;  // draw a dot at each point: points are few, and each is a measurement
    std::vector<ChartPanel> panels;
};

}  // namespace tessera
