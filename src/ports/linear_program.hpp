// A solver of linear programs.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "domain/placement/bound/linear_program.hpp"

namespace tessera {

// One program and its solver's state. One owner; several may run at a time, each on a thread.
class LinearProgram {
  public:
    virtual ~LinearProgram() = default;

    // Adds columns to those there and solves, from where it stopped before.
    // invalid_argument: no x keeps all rows, or the gain has no limit. internal: the solver gave
    // up.
    virtual Result<LpSolution> maximise_with(std::span<const LpColumn> more) = 0;
};

using MakeLinearProgram =
    std::function<std::unique_ptr<LinearProgram>(std::span<const LpRow> rows)>;

}  // namespace tessera
