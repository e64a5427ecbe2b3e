#include "app/sim/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

namespace tessera {
namespace {

// Okabe and Ito, 2008.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#000000", "#999999"};
constexpr int kPanelsPerRow = 2;
constexpr double kPanelWidth = 420;
constexpr double kPanelHeight = 260;
constexpr double kLeft = 56;
constexpr double kRight = 14;
constexpr double kTop = 30;
constexpr double kBottom = 44;
constexpr double kLegendRow = 20;

// 1, 2 or 5 times a power of ten, so that some five of them make `span`.
double step_of(double span) {
    const double rough = std::max(span, 1e-6) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= rough) return times * power;
    }
    return 10 * power;
}

// Names come from the command line.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<' || c == '>' || c == '&' || c == '"') {
            out += fmt::format("&#{};", static_cast<int>(c));
        } else {
            out += c;
        }
    }
    return out;
}

class Canvas {
  public:
    // `panel` and `chart` outlive it.
    Canvas(double x, double y, const Chart& chart, const ChartPanel& panel)
        : x_(x), y_(y), chart_(chart), panel_(panel) {
        double low = 1e300;
        double high = -1e300;
        for (const auto& [name, points] : panel.lines) {
            for (const ChartPoint& point : points) {
                low = std::min(low, point.up - point.half.value_or(0));
                high = std::max(high, point.up + point.half.value_or(0));
            }
        }
        if (low > high) low = high = 0;
        step_ = step_of(high - low);
        low_ = std::floor(low / step_) * step_;
        high_ = std::max(std::ceil(high / step_) * step_, low_ + step_);
    }

    void axes(std::string& out) const {
        out += fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left(),
                           y_ + kTop - 10, escaped(panel_.title));
        for (int tick = 0; low_ + tick * step_ <= high_ + step_ / 2; ++tick) {
            const double value = low_ + tick * step_;
            out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left(),
                               height_of(value), right());
            out += fmt::format("<text class=\"up\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n",
                               left() - 6, height_of(value) + 4, value);
        }
        for (const int tick : chart_.ticks) {
            out += fmt::format("<text class=\"across\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                               across(tick), bottom() + 16, tick);
        }
        out += fmt::format("<text class=\"across\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                           (left() + right()) / 2, bottom() + 34, chart_.across);
        out += fmt::format(
            "<text class=\"across\" transform=\"translate({:.1f} {:.1f}) "
            "rotate(-90)\">{}</text>\n",
            x_ + 14, (y_ + kTop + bottom()) / 2, panel_.up);
    }

    void draw(std::string& out, const std::vector<ChartPoint>& points,
              std::string_view colour) const {
        std::string path;
        for (const ChartPoint& point : points) {
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', across(point.across),
                                height_of(point.up));
        }
        if (!path.empty())
            out += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"{}\"/>\n", colour, path);
        if (!chart_.has_dots) return;
        for (const ChartPoint& point : points) {
            const double x = across(point.across);
            out += fmt::format("<circle fill=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n",
                               colour, x, height_of(point.up));
            if (!point.half) continue;
            out += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                               colour, x, height_of(point.up - *point.half),
                               height_of(point.up + *point.half));
        }
    }

  private:
    [[nodiscard]] double left() const { return x_ + kLeft; }
    [[nodiscard]] double right() const { return x_ + kPanelWidth - kRight; }
    [[nodiscard]] double bottom() const { return y_ + kPanelHeight - kBottom; }
    [[nodiscard]] double across(double at) const {
        return left() +
               (right() - left()) * (at - chart_.from) / std::max(chart_.to - chart_.from, 1.0);
    }
    [[nodiscard]] double height_of(double value) const {
        return bottom() - (bottom() - y_ - kTop) * (value - low_) / (high_ - low_);
    }

    double x_;
    double y_;
    const Chart& chart_;
    const ChartPanel& panel_;
    double low_ = 0;
    double high_ = 0;
    double step_ = 0;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
    const std::vector<ChartPanel>& panels = chart.panels;
    std::map<std::string, std::string_view> colours;
    std::vector<std::string> names;
    for (const ChartPanel& panel : panels) {
        for (const auto& [name, points] : panel.lines) {
            if (colours.contains(name)) continue;
            colours.emplace(name, kColours.at(names.size() % kColours.size()));
            names.push_back(name);
        }
    }
    const auto rows = (static_cast<int>(panels.size()) + kPanelsPerRow - 1) / kPanelsPerRow;
    const double width =
        kPanelWidth * std::min<double>(kPanelsPerRow, static_cast<double>(panels.size()));
    const double legend = kLegendRow * static_cast<double>(names.size()) + 10;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<style>.grid{{stroke:#ddd}}"
        ".line{{fill:none;stroke-width:1.8}}.title{{font-weight:bold}}.up{{text-anchor:end}}"
        ".across{{text-anchor:middle}}</style>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "fill=\"#fff\"/>\n",
        width, kPanelHeight * rows + legend);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const auto place = std::div(static_cast<int>(i), kPanelsPerRow);
        const Canvas canvas(place.rem * kPanelWidth, place.quot * kPanelHeight, chart, panels[i]);
        canvas.axes(out);
        for (const auto& [name, points] : panels[i].lines)
            canvas.draw(out, points, colours.at(name));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const double y = kPanelHeight * rows + kLegendRow * (static_cast<double>(i) + 0.5);
        out += fmt::format(
            "<path class=\"line\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h24\"/>\n"
            "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
            colours.at(names[i]), kLeft, y, kLeft + 32, y + 4, escaped(names[i]));
    }
    return out + "</svg>\n";
}

}  // namespace tessera
