#include "simulator/common/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

// Two-sided, 95 %, for 1 degree of freedom and more; the last value serves all beyond (within 2 %).
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042, 2.0};

}  // namespace

Estimate estimate(std::span<const double> values) {
    if (values.empty()) return {};
    const auto count = static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values)
        sum += value;
    Estimate out{sum / count, std::nullopt};
    if (values.size() < 2) return out;
    double squares = 0;
    for (const double value : values)
        squares += (value - out.mean) * (value - out.mean);
    const std::size_t freedom = std::min(values.size() - 1, kStudent.size());
    out.half = kStudent[freedom - 1] * std::sqrt(squares / (count - 1) / count);
    return out;
}

}  // namespace tessera
