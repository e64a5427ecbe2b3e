// Parts of a sum.
#pragma once

#include <numeric>
#include <vector>

namespace tessera::guard {

// The percent that each value is of the sum of all; 0 if that is 0.
inline std::vector<double> percents_of_all(std::vector<double> values) {
    const double all = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& value : values)
        value *= all > 0 ? 100 / all : 0;
    return values;
}

}  // namespace tessera::guard
