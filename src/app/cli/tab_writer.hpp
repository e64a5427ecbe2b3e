// Aligns text whose cells end in tabs, as Go's text/tabwriter does with padding 2. gpushare's
// tables are made by it, and scripts cut them by column (docs/research/gpushare.md §3).
//
// Within a run of consecutive lines that have a tab-terminated cell in column c, that column is as
// wide as its widest cell plus two. Text after the last tab of a line is not a cell.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

std::string align_tabs(std::string_view text);

// The same, without blanks at the ends of lines.
std::string align_tabs_and_trim(std::string_view text);

}  // namespace tessera
