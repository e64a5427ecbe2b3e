#include "guard/arbiter/time_attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace tessera::guard {
namespace {

// A point from 0 to 1 at which a polynomial is evaluated, and its weight in the integral.
struct Node {
    double at;
    double weight;
};

// P_n and its derivative at x, by the recurrence of the Legendre polynomials.
struct Legendre {
    double value;
    double slope;
};

Legendre legendre(int degree, double x) {
    double before = 1;
    double value = x;
    for (int n = 2; n <= degree; n++) {
        const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
        before = value;
        value = next;
    }
    return {value, degree * (x * value - before) / (x * x - 1)};
}

std::vector<Node> nodes_of(int count) {
    std::vector<Node> nodes;
    for (int i = 0; i < count; i++) {
        double x = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5));
        Legendre here = legendre(count, x);
        constexpr int kRounds = 6;  // of Newton's method, from within a hundredth of the root
        for (int round = 0; round < kRounds; round++) {
            x -= here.value / here.slope;
            here = legendre(count, x);
        }
        nodes.push_back({(1 + x) / 2, 1 / ((1 - x * x) * here.slope * here.slope)});
    }
    std::ranges::reverse(nodes);
    return nodes;
}

// Goes through a tick, from one start or end of a work interval to the next.
class Sweep {
  public:
    explicit Sweep(int most_at_once) {
        // Half as many nodes are exact. With fewer, the error is below the precision of a double.
        const int enough = most_at_once <= 80 ? 24 : most_at_once <= kExactlyAtOnce ? 32 : 48;
        for (const Node& node : nodes_of(std::min(most_at_once / 2 + 1, enough)))
            points_.push_back({node.at, 1 / node.at, node.weight, node.weight});
    }

    // Adds an entry that is in flight by chance for the whole tick, except where begin() and end()
    // say that its work began or ended. The entries are numbered from 0.
    void add(double by_chance) {
        const Parts parts(by_chance);
        for (Point& point : points_) {
            point.product *= std::pow(point.at, parts.whole) * factor(point, parts.rest);
            inverses_.push_back(1 / factor(point, std::min(by_chance, 1.0)));
        }
        rescale();
    }
    // passed_ns pass, and then the entry's work begins or ends. Before begin(), the entry was in
    // flight by chance. Returns the entry's own part of the time so far if it had been in flight in
    // all of it, minus the same for an entry in flight by chance.
    double begin(std::uint64_t passed_ns, std::size_t number, double by_chance) {
        return change(passed_ns, number, by_chance,
                      [](const Point& point, double inverse) { return point.at * inverse; });
    }
    double end(std::uint64_t passed_ns, std::size_t number, double by_chance) {
        return change(passed_ns, number, by_chance, [by_chance](const Point& point, double) {
            return factor(point, by_chance) * point.inverse;
        });
    }
    void pass(std::uint64_t ns) {
        for (Point& point : points_)
            point.passed += static_cast<double>(ns) * point.product * point.counts;
    }
    // The own part, of the time so far, of that many in flight by chance.
    [[nodiscard]] double own_of(double by_chance) const {
        const Parts parts(by_chance);
        double own = 0;
        for (const Point& point : points_) {
            own += point.passed *
                   (parts.whole * point.inverse + parts.rest / factor(point, parts.rest));
        }
        return own;
    }

  private:
    struct Point {
        double at;
        double inverse;
        double weight;
        double counts;       // the weight; 0 if scale is not 0
        double product = 1;  // of the factors of all in flight, times kTiny^-scale
        double passed = 0;   // the integral of the product over time, weighted
        int scale = 0;
    };
    struct Parts {
        double whole;  // always in flight; one more is, with the probability `rest`
        double rest;

        explicit Parts(double many) : whole(std::floor(many)), rest(many - whole) {}
    };

    template <typename Ratio>
    double change(std::uint64_t passed_ns, std::size_t number, double by_chance,
                  const Ratio& ratio) {
        const auto length = static_cast<double>(passed_ns);
        const double* inverse = &inverses_[number * points_.size()];
        double more = 0;
        for (Point& point : points_) {
            point.passed += length * point.product * point.counts;
            more += point.passed * (point.inverse - by_chance * *inverse);
            point.product *= ratio(point, *inverse);
            inverse++;
        }
        rescale();
        return more;
    }

    static double factor(const Point& point, double chance) {
        return 1 - chance + chance * point.at;
    }

    // Many entries at once make products that underflow and count for nothing. They must be
    // restored when those entries end. The products are in the order of the points.
    void rescale() {
        if (!is_scaled_ && points_.front().product >= kTiny) return;
        is_scaled_ = false;
        for (Point& point : points_) {
            if (point.scale > 0 && point.product > 1) {
                point.product *= kTiny;
                point.scale--;
            }
            while (point.product < kTiny && point.product > 0) {
                point.product /= kTiny;
                point.scale++;
            }
            point.counts = point.scale == 0 ? point.weight : 0;
            is_scaled_ |= point.scale != 0;
        }
    }

    static constexpr double kTiny = 0x1p-200;
    std::vector<Point> points_;     // ascending
    std::vector<double> inverses_;  // of each entry's by-chance factor, point by point
    bool is_scaled_ = false;        // any point is
};

struct End {
    std::uint64_t after_ns;  // since the start of the tick
    std::uint32_t busy;
    bool is_start;
};

// Radix sort, from the lowest digit on: comparing thousands of unordered ends is slow.
void sort(std::vector<End>& ends, std::uint64_t most_ns) {
    constexpr unsigned kBits = 10;
    constexpr std::size_t kDigits = std::size_t{1} << kBits;
    std::vector<End> sorted(ends.size());
    for (unsigned shift = 0; shift < 64 && most_ns >> shift != 0; shift += kBits) {
        const auto digit = [shift](const End& end) {
            return static_cast<std::size_t>(end.after_ns >> shift) % kDigits;
        };
        std::array<std::uint32_t, kDigits> next = {};
        for (const End& end : ends)
            next[digit(end)]++;
        std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint32_t{0});
        for (const End& end : ends)
            sorted[next[digit(end)]++] = end;
        ends.swap(sorted);
    }
}

// Ascending. The order of ends at the same instant does not matter: no time passes between them.
std::vector<End> ends_of(const std::vector<BusyTime>& busy_times, Span tick) {
    std::vector<End> ends;
    std::size_t spans = 0;
    for (const BusyTime& busy : busy_times)
        spans += busy.spans.size();
    ends.reserve(2 * spans);
    const auto after = [&](std::int64_t at) {
        return static_cast<std::uint64_t>(at - tick.start_ns);
    };
    for (std::uint32_t i = 0; i < busy_times.size(); i++) {
        for (const Span& span : busy_times[i].spans) {
            ends.push_back({after(span.start_ns), i, true});
            ends.push_back({after(span.end_ns), i, false});
        }
    }
    sort(ends, after(tick.end_ns));
    return ends;
}

int most_at_once(const std::vector<BusyTime>& busy_times) {
    double most = 0;
    for (const BusyTime& busy : busy_times)
        most += std::max(1.0, std::ceil(busy.by_chance));
    return static_cast<int>(std::min(most, 1e6));
}

}  // namespace

std::vector<double> own_parts(const std::vector<BusyTime>& busy_times, Span tick) {
    if (busy_times.empty()) return {};
    Sweep sweep(most_at_once(busy_times));
    for (const BusyTime& busy : busy_times)
        sweep.add(busy.by_chance);
    std::vector<double> own(busy_times.size());
    std::uint64_t at = 0;
    for (const End& end : ends_of(busy_times, tick)) {
        const std::uint64_t passed = end.after_ns - at;
        const double by_chance = busy_times[end.busy].by_chance;
        if (end.is_start) {
            own[end.busy] -= sweep.begin(passed, end.busy, by_chance);
        } else {
            own[end.busy] += sweep.end(passed, end.busy, by_chance);
        }
        at = end.after_ns;
    }
    sweep.pass(static_cast<std::uint64_t>(tick.end_ns - tick.start_ns) - at);
    for (std::size_t i = 0; i < busy_times.size(); i++) {
        double covered = 0;
        for (const Span& span : busy_times[i].spans)
            covered += length_of(span);
        const double by_chance = busy_times[i].by_chance;
        const double in_flight = covered + (length_of(tick) - covered) * by_chance;
        own[i] += sweep.own_of(by_chance);
        own[i] = in_flight > 0 ? std::clamp(own[i] / in_flight, 0.0, 1.0) : 1;
    }
    return own;
}

}  // namespace tessera::guard
