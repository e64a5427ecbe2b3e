// Charts as pictures (SVG or PNG), drawn by PLplot.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/chart.hpp"

namespace tessera {

enum class PictureKind { svg, png };

// By the ending of the file's name; one without an ending, such as a pipe, gets SVG.
// invalid_argument: another ending, or no name.
Result<PictureKind> picture_kind(std::string_view path);

// Whether PLplot can draw such. unavailable, naming the package that lacks.
Result<> check_picture(PictureKind kind);

// The same bytes for the same chart. Eight colours are told apart by people who do not see all of
// them; lines after the eighth have the same ones again, and dashes. check_picture() said yes. Not
// for several threads: PLplot's state is the process's.
std::string chart_picture(const Chart& chart, PictureKind kind);

}  // namespace tessera
