// Goal: a picture contains all of the chart, for any names. Method: the picture is read as text:
// PLplot writes each letter as the number of its character.
#include "simulator/chart/chart_picture.hpp"

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

std::string svg_of(const Chart& chart) {
    return chart_picture(chart, PictureKind::svg);
}

Chart chart_of(const std::string& title, const std::string& name) {
    const ChartLine line{name, {{90, 10, 1.0}, {100, 20, std::nullopt}}};
    return {.across = "asked for",
            .from = 90,
            .to = 100,
            .ticks = {90, 100},
            .has_dots = true,
            .panels = {{.title = title, .up = "allocated", .lines = {line}}}};
}

TEST(ChartPicture, HasAllOfIt) {
    const std::string svg = svg_of(chart_of("default", "fgd"));
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    for (const char* text : {"asked for", "allocated", "default", "fgd", "90", "100"})
        EXPECT_NE(svg.find(as_written(text)), std::string::npos) << text;
    EXPECT_EQ(count(svg, as_written("fgd")), 1U) << "in the legend";
    EXPECT_GE(count(svg, "#0072B2"), 5U) << "a line, two dots, a bar and the legend";
}

TEST(ChartPicture, IsTheSameForTheSameChart) {
    const std::string first = svg_of(chart_of("a", "b"));
    svg_of({});
    EXPECT_EQ(svg_of(chart_of("a", "b")), first);
}

TEST(ChartPicture, OddNamesAreText) {
    const std::string odd = "<a> & \"#(751)";
    const std::string svg = svg_of(chart_of(odd, odd));
    EXPECT_EQ(count(svg, as_written(odd)), 2U);
}

TEST(ChartPicture, NothingIsNoFault) {
    EXPECT_NE(svg_of({}).find("</svg>"), std::string::npos);
    Chart empty = chart_of("a", "b");
    empty.panels[0].lines[0].second.clear();
    EXPECT_NE(svg_of(empty).find("</svg>"), std::string::npos);
}

// The numbers along the vertical axis of a panel with these values.
std::string axis_of(const std::vector<double>& values) {
    Chart chart = chart_of("a", "b");
    auto& points = chart.panels[0].lines[0].second;
    points.clear();
    for (const double value : values)
        points.push_back({90 + static_cast<double>(points.size()), value, std::nullopt});
    return svg_of(chart);
}

// Goal: an axis begins at 0 and ends at 1 if all values are 0, and is below 0 only if a value is.
TEST(ChartPicture, Axes) {
    const std::string zeros = axis_of({0, 0});
    EXPECT_EQ(zeros.find(as_written("-")), std::string::npos);
    EXPECT_NE(zeros.find(as_written("0.2")), std::string::npos);
    EXPECT_NE(zeros.find(as_written("1.0")), std::string::npos);
    EXPECT_EQ(axis_of({0, 10}).find(as_written("-")), std::string::npos);
    EXPECT_NE(axis_of({-5, 10}).find(as_written("-")), std::string::npos);
    EXPECT_NE(axis_of({50, 50}).find(as_written("50")), std::string::npos);
}

// Goal: ten lines all look different: those after the eighth are dashed.
TEST(ChartPicture, MoreLinesThanColours) {
    Chart chart = chart_of("a", "0");
    const auto points = chart.panels[0].lines[0].second;
    const auto strokes = [](const Chart& of) {
        return count(svg_of(of), "<polyline") - count(svg_of({}), "<polyline");
    };
    std::vector<std::size_t> more;
    for (int name = 1; name < 10; ++name) {
        const std::size_t before = strokes(chart);
        chart.panels[0].lines.emplace_back(std::to_string(name), points);
        more.push_back(strokes(chart) - before);
    }
    EXPECT_EQ(more.front(), more[6]);
    EXPECT_GT(more[7], more.front() + 2);
    EXPECT_GT(more[8], more.front() + 2);
}

// Goal: the file's extension decides the format.
TEST(ChartPicture, Kinds) {
    for (const auto& [path, kind] :
         {std::pair("x.svg", PictureKind::svg), std::pair("a.b/x.png", PictureKind::png),
          std::pair("/dev/stdout", PictureKind::svg), std::pair("a.pdf/x", PictureKind::svg)})
        EXPECT_EQ(picture_kind(path), kind) << path;
    for (const char* path : {"x.pdf", "x.PNG", "a/", ""}) {
        const auto refused = picture_kind(path);
        ASSERT_FALSE(refused) << path;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
    }
    EXPECT_TRUE(check_picture(PictureKind::svg));
}

// Goal: PNG, with the driver that tools/setup installs.
TEST(ChartPicture, Png) {
    const auto can = check_picture(PictureKind::png);
    ASSERT_TRUE(can) << can.error().text;
    const Chart chart = chart_of("a", "b");
    const std::string png = chart_picture(chart, PictureKind::png);
    EXPECT_TRUE(png.starts_with("\x89PNG\r\n")) << png.size();
    EXPECT_EQ(chart_picture(chart, PictureKind::png), png);
    EXPECT_TRUE(svg_of(chart).starts_with("<?xml")) << "one after the other";
}

}  // namespace
}  // namespace tessera
