// Charts as pictures (SVG or PNG), drawn by PLplot.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "simulator/chart/chart.hpp"

namespace tessera {

enum class PictureKind { svg, png };

// By the file name's extension; a file without one, such as a pipe, gets SVG. Errors:
// invalid_argument for another extension, or for an empty name.
Result<PictureKind> picture_kind(std::string_view path);

// Whether PLplot can draw such pictures. Errors: unavailable, with the missing package.
Result<> check_picture(PictureKind kind);

// The same chart gives the same bytes. Colour-blind people can tell the eight colours apart; later
// lines repeat them with dashes. Call check_picture() first. Not thread-safe: PLplot's state is
// global.
std::string chart_picture(const Chart& chart, PictureKind kind);

}  // namespace tessera
