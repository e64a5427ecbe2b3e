// A linear program that grows by columns, as values: maximise the sum of gain x, with x >= 0 and
// each row's sum within its limits.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace tessera {

struct LpRow {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
};

struct LpEntry {
    int row = 0;
    double value = 0;
};

struct LpColumn {
    double gain = 0;  // per unit of its x
    std::vector<LpEntry> entries;
};

struct LpSolution {
    double gain = 0;
    std::vector<double> prices;  // per row: the growth of the gain per unit of its active limit
};

// Adds the columns to those of earlier calls and solves. Errors: the program has no solution, or
// the solver gave up.
using SolveLp = std::function<Result<LpSolution>(std::span<const LpColumn> more)>;

}  // namespace tessera
