// The lines that `./dev bench` prints: figure | goal | measured | holds.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace tessera::bench {

// The value below which a fraction `share` (0 to 1) of the samples lies. `samples` is not empty.
inline double quantile(std::vector<double> samples, double share) {
    std::ranges::sort(samples);
    const auto last = static_cast<double>(samples.size() - 1);
    return samples[static_cast<std::size_t>(last * share + 0.5)];
}

// Prints a figure whose value must not exceed `most`. Returns false if it does.
inline bool at_most(const std::string& figure, double most, double measured, const char* unit) {
    const bool holds = measured <= most;
    fmt::print("{} | <= {} {} | {:.3g} {} | {}\n", figure, most, unit, measured, unit,
               holds ? "holds" : "falls short");
    std::fflush(stdout);
    return holds;
}

// Prints a figure whose value must be at least `least`. Returns false if it is less.
inline bool at_least(const std::string& figure, double least, double measured, const char* unit) {
    const bool holds = measured >= least;
    fmt::print("{} | >= {} {} | {:.3g} {} | {}\n", figure, least, unit, measured, unit,
               holds ? "holds" : "falls short");
    std::fflush(stdout);
    return holds;
}

// Prints a figure without a goal, for comparison.
inline void shown(const std::string& figure, double measured, const char* unit) {
    fmt::print("{} | - | {:.3g} {} | -\n", figure, measured, unit);
    std::fflush(stdout);
}

}  // namespace tessera::bench
