// Goal: a chart becomes a picture that has all of it, whatever its names are. Method: the picture
// is read as text: PLplot writes each letter as the number of its character.
#include "adapters/plot/chart_svg.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string as_written(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += fmt::format("&#x{:02x};", static_cast<unsigned>(c));
    return out;
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

Chart chart_of(const std::string& title, const std::string& name) {
    const ChartLine line{name, {{90, 10, 1.0}, {100, 20, std::nullopt}}};
    return {.across = "asked for",
            .from = 90,
            .to = 100,
            .ticks = {90, 100},
            .has_dots = true,
            .panels = {{.title = title, .up = "held", .lines = {line}}}};
}

TEST(ChartSvg, HasAllOfIt) {
    const std::string svg = chart_svg(chart_of("default", "fgd"));
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    for (const char* text : {"asked for", "held", "default", "fgd", "90", "100"})
        EXPECT_NE(svg.find(as_written(text)), std::string::npos) << text;
    EXPECT_EQ(count(svg, as_written("fgd")), 1U) << "in the legend";
    EXPECT_GE(count(svg, "#0072B2"), 5U) << "a line, two dots, a bar and the legend";
}

TEST(ChartSvg, IsTheSameForTheSameChart) {
    const std::string first = chart_svg(chart_of("a", "b"));
    chart_svg({});
    EXPECT_EQ(chart_svg(chart_of("a", "b")), first);
}

TEST(ChartSvg, OddNamesAreText) {
    const std::string odd = "<a> & \"#(751)";
    const std::string svg = chart_svg(chart_of(odd, odd));
    EXPECT_EQ(count(svg, as_written(odd)), 2U);
}

TEST(ChartSvg, NothingIsNoFault) {
    EXPECT_NE(chart_svg({}).find("</svg>"), std::string::npos);
    Chart empty = chart_of("a", "b");
    empty.panels[0].lines[0].second.clear();
    EXPECT_NE(chart_svg(empty).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace tessera
