// A solver of linear programs.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "simulator/upper_bound/linear_program.hpp"

namespace tessera {

// One program and its solver's state. It has one owner. Several programs may run at the same time,
// each on its own thread.
class LinearProgram {
  public:
    virtual ~LinearProgram() = default;

    // Adds columns to the existing ones and solves, from where the solver stopped before.
    // invalid_argument: no x satisfies all rows, or the gain is unbounded. internal: the solver
    // gave up.
    virtual Result<LpSolution> maximise_with(std::span<const LpColumn> more) = 0;
};

using MakeLinearProgram =
    std::function<std::unique_ptr<LinearProgram>(std::span<const LpRow> rows)>;

}  // namespace tessera
