// Charts as pictures (SVG), drawn by PLplot.
#pragma once

#include <string>

#include "ports/chart.hpp"

namespace tessera {

// The same text for the same chart. Colours are told apart by people who do not see all of them.
// Not for several threads: PLplot's state is the process's.
std::string chart_svg(const Chart& chart);

}  // namespace tessera
