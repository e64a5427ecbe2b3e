#include "adapters/plot/chart_svg.hpp"

#include <plplot/plplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tessera {
namespace {

struct Colour {
    PLINT red;
    PLINT green;
    PLINT blue;
};
constexpr auto kColours = std::to_array<Colour>({
    {255, 255, 255},
    {0, 0, 0},
    {221, 221, 221},
    // Of the lines: Okabe and Ito, 2008.
    {0, 114, 178},
    {213, 94, 0},
    {0, 158, 115},
    {204, 121, 167},
    {230, 159, 0},
    {86, 180, 233},
    {0, 0, 0},
    {153, 153, 153},
});
constexpr PLINT kBlack = 1;
constexpr PLINT kGrey = 2;
constexpr PLINT kFirstLine = 3;
constexpr PLINT kLineColours = static_cast<PLINT>(kColours.size()) - kFirstLine;

// In points of the picture.
constexpr int kPanelsPerRow = 2;
constexpr double kPanelWidth = 420;
constexpr double kPanelHeight = 260;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 30;
constexpr double kBottom = 46;
constexpr double kLegendRow = 20;
constexpr double kLineWidth = 1.8;

// Names come from the command line; PLplot's own commands begin with #.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '#' ? std::string("##") : std::string(1, c);
    return out;
}

struct Range {
    double low = 0;
    double high = 0;
};

// Of all points of the panel, with a little air.
Range range_of(const ChartPanel& panel) {
    Range range = {1e300, -1e300};
    for (const auto& [name, points] : panel.lines) {
        for (const ChartPoint& point : points) {
            range.low = std::min(range.low, point.up - point.half.value_or(0));
            range.high = std::max(range.high, point.up + point.half.value_or(0));
        }
    }
    if (range.low > range.high) return {0, 1};
    const double air = std::max((range.high - range.low) * 0.05, 1e-6);
    return {range.low - air, range.high + air};
}

class Page {
  public:
    explicit Page(const Chart& chart) : chart_(chart) {
        for (const ChartPanel& panel : chart.panels) {
            for (const auto& [name, points] : panel.lines) {
                if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
            }
        }
        const auto panels = static_cast<double>(chart.panels.size());
        rows_ = std::ceil(panels / kPanelsPerRow);
        width_ = kPanelWidth * std::clamp<double>(panels, 1, kPanelsPerRow);
        height_ = kPanelHeight * rows_ + kLegendRow * static_cast<double>(names_.size()) + 10;
    }

    [[nodiscard]] int width() const { return static_cast<int>(width_); }
    [[nodiscard]] int height() const { return static_cast<int>(height_); }

    void draw() const {
        pladv(0);
        for (std::size_t i = 0; i < chart_.panels.size(); ++i) {
            const auto place = std::div(static_cast<int>(i), kPanelsPerRow);
            draw(chart_.panels[i], place.rem * kPanelWidth, place.quot * kPanelHeight);
        }
        draw_legend();
    }

  private:
    // From the upper left corner.
    void view(double left, double right, double top, double bottom) const {
        plvpor(left / width_, right / width_, 1 - bottom / height_, 1 - top / height_);
    }
    [[nodiscard]] PLINT colour_of(const std::string& name) const {
        const auto at = std::ranges::find(names_, name) - names_.begin();
        return kFirstLine + static_cast<PLINT>(at % kLineColours);
    }

    void draw(const ChartPanel& panel, double x, double y) const {
        const Range up = range_of(panel);
        view(x + kLeft, x + kPanelWidth - kRight, y + kTop, y + kPanelHeight - kBottom);
        const double across_all = std::max(chart_.to - chart_.from, 1.0);
        plwind(chart_.from, chart_.from + across_all, up.low, up.high);
        plcol0(kGrey);
        plwidth(1);
        plbox("", 0, 0, "g", 0, 0);
        plcol0(kBlack);
        plbox("b", 0, 0, "bnstv", 0, 0);
        for (const int tick : chart_.ticks) {
            plmtex("b", 1.5, (tick - chart_.from) / across_all, 0.5, std::to_string(tick).c_str());
        }
        plmtex("b", 3.2, 0.5, 0.5, plain(chart_.across).c_str());
        plmtex("l", 4.5, 0.5, 0.5, plain(panel.up).c_str());
        plmtex("t", 1, 0, 0, plain(panel.title).c_str());
        for (const auto& [name, points] : panel.lines)
            draw(points, colour_of(name));
    }
    void draw(const std::vector<ChartPoint>& points, PLINT colour) const {
        std::vector<PLFLT> across;
        std::vector<PLFLT> up;
        for (const ChartPoint& point : points) {
            across.push_back(point.across);
            up.push_back(point.up);
        }
        plcol0(colour);
        plwidth(kLineWidth);
        plline(static_cast<PLINT>(points.size()), across.data(), up.data());
        if (!chart_.has_dots) return;
        plstring(static_cast<PLINT>(points.size()), across.data(), up.data(), "\u25CF");
        for (const ChartPoint& point : points) {
            if (!point.half) continue;
            const PLFLT low = point.up - *point.half;
            const PLFLT high = point.up + *point.half;
            plerry(1, &point.across, &low, &high);
        }
    }
    void draw_legend() const {
        const double top = kPanelHeight * rows_;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const double y = top + kLegendRow * static_cast<double>(i);
            view(kLeft, width_, y, y + kLegendRow);
            plwind(0, width_ - kLeft, 0, 1);
            plcol0(colour_of(names_[i]));
            plwidth(kLineWidth);
            pljoin(0, 0.5, 24, 0.5);
            plcol0(kBlack);
            plptex(32, 0.5, 1, 0, 0, plain(names_[i]).c_str());
        }
    }

    const Chart& chart_;
    std::vector<std::string> names_;
    double rows_ = 0;
    double width_ = 0;
    double height_ = 0;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
    char* text = nullptr;
    std::size_t size = 0;
    // PLplot closes it.
    FILE* file = open_memstream(&text, &size);
    const Page page(chart);
    plsdev("svg");
    plsfile(file);
    plspage(0, 0, page.width(), page.height(), 0, 0);
    plscmap0n(static_cast<PLINT>(kColours.size()));
    for (std::size_t i = 0; i < kColours.size(); ++i) {
        const auto& [red, green, blue] = kColours.at(i);
        plscol0(static_cast<PLINT>(i), red, green, blue);
    }
    plinit();
    plschr(3, 1);
    page.draw();
    plend();
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    return {text, size};
}

}  // namespace tessera
