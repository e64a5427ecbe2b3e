#include "app/sim/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

namespace tessera {
namespace {

// Told apart by people who do not see all colours (Okabe and Ito, 2008).
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

// By percent; nothing where no task fell.
using Line = std::vector<std::optional<double>>;

struct Panel {
    std::string trace;
    std::vector<std::pair<std::string, Line>> lines;  // by policy, in the order of the runs
};

template <class List, class Key>
auto& at_or_new(List& list, const Key& key, auto name) {
    const auto at = std::ranges::find(list, key, name);
    if (at != list.end()) return *at;
    list.push_back({key, {}});
    return list.back();
}

Line mean_line(std::span<const SimRun> runs, const std::string& trace, const std::string& policy,
               const PlotOptions& options) {
    Line line;
    for (int percent = 0; percent <= kLastPercent; ++percent) {
        double sum = 0;
        int count = 0;
        for (const SimRun& run : runs) {
            const CurvePoint& point = run.curve[static_cast<std::size_t>(percent)];
            if (run.name.trace != trace || run.policy != policy || point.tasks == 0) continue;
            sum += point.*options.figure.value;
            ++count;
        }
        line.push_back(count > 0 ? std::optional(sum / count) : std::nullopt);
    }
    return line;
}

std::vector<Panel> panels_of(std::span<const SimRun> runs, const PlotOptions& options) {
    std::vector<Panel> panels;
    for (const SimRun& run : runs) {
        Panel& panel = at_or_new(panels, run.name.trace, &Panel::trace);
        auto& [policy, line] =
            at_or_new(panel.lines, run.policy, [](const auto& one) { return one.first; });
        if (line.empty()) line = mean_line(runs, run.name.trace, policy, options);
    }
    return panels;
}

// 1, 2 or 5 times a power of ten, so that some five of them make `span`.
double step_of(double span) {
    const double rough = std::max(span, 1e-6) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= rough) return times * power;
    }
    return 10 * power;
}

// A trace's name comes from the command line.
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
    Canvas(double x, double y, int from, std::span<const std::pair<std::string, Line>> lines)
        : x_(x), y_(y), from_(from) {
        double low = 1e300;
        double high = -1e300;
        for (const auto& [policy, line] : lines) {
            for (std::size_t at = static_cast<std::size_t>(from); at < line.size(); ++at) {
                if (!line[at]) continue;
                low = std::min(low, *line[at]);
                high = std::max(high, *line[at]);
            }
        }
        if (low > high) low = high = 0;
        step_ = step_of(high - low);
        low_ = std::floor(low / step_) * step_;
        high_ = std::max(std::ceil(high / step_) * step_, low_ + step_);
    }

    void axes(std::string& out, const Panel& panel, const PlotFigure& figure) const {
        out += fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left(),
                           y_ + kTop - 10, escaped(panel.trace));
        for (int tick = 0; low_ + tick * step_ <= high_ + step_ / 2; ++tick) {
            const double value = low_ + tick * step_;
            out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left(),
                               height_of(value), right());
            out += fmt::format("<text class=\"up\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n",
                               left() - 6, height_of(value) + 4, value);
        }
        for (int percent = (from_ + 9) / 10 * 10; percent <= kLastPercent; percent += 10) {
            out += fmt::format("<text class=\"across\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                               across(percent), bottom() + 16, percent);
        }
        out += fmt::format(
            "<text class=\"across\" x=\"{:.1f}\" y=\"{:.1f}\">asked for, % of all "
            "cards</text>\n",
            (left() + right()) / 2, bottom() + 34);
        out += fmt::format(
            "<text class=\"across\" transform=\"translate({:.1f} {:.1f}) "
            "rotate(-90)\">{}</text>\n",
            x_ + 14, (y_ + kTop + bottom()) / 2, figure.title);
    }

    void draw(std::string& out, const Line& line, std::string_view colour) const {
        std::string path;
        for (std::size_t at = static_cast<std::size_t>(from_); at < line.size(); ++at) {
            if (!line[at]) continue;
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L',
                                across(static_cast<int>(at)), height_of(*line[at]));
        }
        if (!path.empty())
            out += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"{}\"/>\n", colour, path);
    }

  private:
    [[nodiscard]] double left() const { return x_ + kLeft; }
    [[nodiscard]] double right() const { return x_ + kPanelWidth - kRight; }
    [[nodiscard]] double bottom() const { return y_ + kPanelHeight - kBottom; }
    [[nodiscard]] double across(int percent) const {
        return left() + (right() - left()) * (percent - from_) / std::max(kLastPercent - from_, 1);
    }
    [[nodiscard]] double height_of(double value) const {
        return bottom() - (bottom() - y_ - kTop) * (value - low_) / (high_ - low_);
    }

    double x_;
    double y_;
    int from_;
    double low_ = 0;
    double high_ = 0;
    double step_ = 0;
};

}  // namespace

std::string run_svg(std::span<const SimRun> runs, const PlotOptions& options) {
    const std::vector<Panel> panels = panels_of(runs, options);
    std::map<std::string, std::string_view> colours;
    std::vector<std::string> policies;
    for (const SimRun& run : runs) {
        if (colours.contains(run.policy)) continue;
        colours.emplace(run.policy, kColours.at(policies.size() % kColours.size()));
        policies.push_back(run.policy);
    }
    const auto rows = (static_cast<int>(panels.size()) + kPanelsPerRow - 1) / kPanelsPerRow;
    const double width =
        kPanelWidth * std::min<double>(kPanelsPerRow, static_cast<double>(panels.size()));
    const double legend = kLegendRow * static_cast<double>(policies.size()) + 10;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<style>.grid{{stroke:#ddd}}"
        ".line{{fill:none;stroke-width:1.8}}.title{{font-weight:bold}}.up{{text-anchor:end}}"
        ".across{{text-anchor:middle}}</style>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "fill=\"#fff\"/>\n",
        width, kPanelHeight * rows + legend);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const auto place = std::div(static_cast<int>(i), kPanelsPerRow);
        const Canvas canvas(place.rem * kPanelWidth, place.quot * kPanelHeight, options.from,
                            panels[i].lines);
        canvas.axes(out, panels[i], options.figure);
        for (const auto& [policy, line] : panels[i].lines)
            canvas.draw(out, line, colours.at(policy));
    }
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const double y = kPanelHeight * rows + kLegendRow * (static_cast<double>(i) + 0.5);
        out += fmt::format(
            "<path class=\"line\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h24\"/>\n"
            "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
            colours.at(policies[i]), kLeft, y, kLeft + 32, y + 4, escaped(policies[i]));
    }
    return out + "</svg>\n";
}

}  // namespace tessera
