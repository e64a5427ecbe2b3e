// A mean, and its uncertainty.
#pragma once

#include <optional>
#include <span>

namespace tessera {

// A mean of independent values, and half the width of Student's interval of 95 %.
struct Estimate {
    double mean = 0;
    std::optional<double> half;  // nothing with fewer than two values
};
Estimate estimate(std::span<const double> values);

}  // namespace tessera
