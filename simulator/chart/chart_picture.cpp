#include "simulator/chart/chart_picture.hpp"

#include <fmt/format.h>
#include <plplot/plplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

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
    // The colours of the lines: Okabe and Ito, 2008.
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

// The first pattern is for as many lines as there are colours, and so on; lengths in micrometres.
struct Dashes {
    PLINT mark;
    PLINT ns;
};
constexpr auto kDashes = std::to_array<Dashes>({{0, 0}, {3'000, 2'500}, {1'000, 2'500}});

// In points of the picture.
constexpr int kPanelsPerRow = 2;
constexpr double kPanelWidth = 420;
constexpr double kPanelHeight = 260;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 30;
constexpr double kBottom = 46;
constexpr double kLegendRow = 20;
constexpr double kLegendLine = 36;  // long enough for dashes
constexpr double kLineWidth = 1.8;
constexpr double kPointsPerInch = 72;
constexpr double kLetterMm = 3;

struct Kind {
    PictureKind kind;
    std::string_view ending;
    const char* driver;  // PLplot's name for it
    std::string_view package;
    int scale;  // dots per point
};
constexpr auto kKinds = std::to_array<Kind>({
    {PictureKind::svg, ".svg", "svg", "libplplot17", 1},
    {PictureKind::png, ".png", "pngcairo", "plplot-driver-cairo", 2},
});

const Kind& kind_row(PictureKind kind) {
    return *std::ranges::find(kKinds, kind, &Kind::kind);
}

// Names come from the command line, and # begins PLplot's own commands.
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

// The range of all points of the panel, with a margin. It does not go below 0 if no point does.
Range range_of(const ChartPanel& panel) {
    Range range = {1e300, -1e300};
    double least = 1e300;
    for (const auto& [name, points] : panel.lines) {
        for (const ChartPoint& point : points) {
            least = std::min(least, point.up);
            range.low = std::min(range.low, point.up - point.half.value_or(0));
            range.high = std::max(range.high, point.up + point.half.value_or(0));
        }
    }
    if (range.low > range.high || (range.low == 0 && range.high == 0)) return {0, 1};
    const bool is_flat = range.low == range.high;
    const double air = (is_flat ? std::abs(range.high) : range.high - range.low) * 0.05;
    const double low = range.low - air;
    return {least >= 0 ? std::max(low, 0.0) : low, range.high + air};
}

class Page {
  public:
    // `scale` converts line widths from points.
    Page(const Chart& chart, double scale) : chart_(chart), scale_(scale) {
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
    // Positions from the upper left corner.
    void view(double left, double right, double top, double bottom) const {
        plvpor(left / width_, right / width_, 1 - bottom / height_, 1 - top / height_);
    }
    // Selects the pen for the line with this number.
    void use_pen_of(std::size_t name) const {
        const auto [round, colour] = std::div(static_cast<int>(name), kLineColours);
        plcol0(kFirstLine + colour);
        const auto& [mark, ns] = kDashes.at(static_cast<std::size_t>(round) % kDashes.size());
        plstyl(mark > 0 ? 1 : 0, &mark, &ns);
        plwidth(kLineWidth * scale_);
    }
    [[nodiscard]] std::size_t number_of(const std::string& name) const {
        return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
    }

    void draw(const ChartPanel& panel, double x, double y) const {
        const Range up = range_of(panel);
        view(x + kLeft, x + kPanelWidth - kRight, y + kTop, y + kPanelHeight - kBottom);
        const double across_all = std::max(chart_.to - chart_.from, 1.0);
        plwind(chart_.from, chart_.from + across_all, up.low, up.high);
        plcol0(kGrey);
        plwidth(scale_);
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
            draw(points, number_of(name));
    }
    void draw(const std::vector<ChartPoint>& points, std::size_t name) const {
        std::vector<PLFLT> across;
        std::vector<PLFLT> up;
        for (const ChartPoint& point : points) {
            across.push_back(point.across);
            up.push_back(point.up);
        }
        use_pen_of(name);
        plline(static_cast<PLINT>(points.size()), across.data(), up.data());
        pllsty(1);
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
            use_pen_of(i);
            pljoin(0, 0.5, kLegendLine, 0.5);
            pllsty(1);
            plcol0(kBlack);
            plptex(kLegendLine + 8, 0.5, 1, 0, 0, plain(names_[i]).c_str());
        }
    }

    const Chart& chart_;
    const double scale_;
    std::vector<std::string> names_;
    double rows_ = 0;
    double width_ = 0;
    double height_ = 0;
};

}  // namespace

Result<PictureKind> picture_kind(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot);
    for (const Kind& kind : kKinds) {
        if (ending == kind.ending) return kind.kind;
    }
    if (name.empty()) return fail(Code::invalid_argument, "is no file's name");
    if (ending.empty()) return PictureKind::svg;
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is no kind of picture; name the file .svg or .png", ending));
}

Result<> check_picture(PictureKind kind) {
    const Kind& asked = kind_row(kind);
    std::array<const char*, 64> titles{};
    std::array<const char*, 64> names{};
    int count = static_cast<int>(names.size());
    const char** title = titles.data();
    const char** name = names.data();
    plgDevs(&title, &name, &count);
    const std::span there = std::span(names).first(static_cast<std::size_t>(std::max(count, 0)));
    if (std::ranges::find(there, std::string_view(asked.driver),
                          [](const char* one) { return std::string_view(one); }) != there.end())
        return {};
    return fail(Code::unavailable,
                fmt::format("PLplot cannot draw {} here: install Debian's {}, or name another kind",
                            asked.ending.substr(1), asked.package));
}

std::string chart_picture(const Chart& chart, PictureKind kind) {
    const Kind& asked = kind_row(kind);
    char* bytes = nullptr;
    std::size_t size = 0;
    // PLplot closes it.
    FILE* file = open_memstream(&bytes, &size);
    const Page page(chart, asked.scale);
    plsdev(asked.driver);
    plsfile(file);
    // The size of letters does not depend on the resolution, that of ticks does.
    plspage(kPointsPerInch, kPointsPerInch, page.width() * asked.scale, page.height() * asked.scale,
            0, 0);
    plscmap0n(static_cast<PLINT>(kColours.size()));
    for (std::size_t i = 0; i < kColours.size(); ++i) {
        const auto& [red, green, blue] = kColours.at(i);
        plscol0(static_cast<PLINT>(i), red, green, blue);
    }
    plinit();
    plschr(kLetterMm, asked.scale);
    page.draw();
    plend();
    const std::unique_ptr<char, decltype(&std::free)> owned(bytes, &std::free);
    return {bytes, size};
}

}  // namespace tessera
