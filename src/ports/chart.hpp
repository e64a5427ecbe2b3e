// Curves to be drawn: panels, and in each a line per name.
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
    std::optional<double> half;  // so far it may be off, either way
};
// By name, which goes to the legend; no two look alike.
using ChartLine = std::pair<std::string, std::vector<ChartPoint>>;

struct ChartPanel {
    std::string title;
    std::string_view up;  // of the upright axis
    std::vector<ChartLine> lines;
};

struct Chart {
    std::string_view across;  // of the level axis, from `from` to `to`, with a number at each tick
    double from = 0;
    double to = 1;
    std::vector<int> ticks;
    bool has_dots = false;  // points are few, and each is a measurement
    std::vector<ChartPanel> panels;
};

}  // namespace tessera
