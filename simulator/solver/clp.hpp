// COIN-OR's CLP, a simplex solver.
#pragma once

#include <memory>
#include <span>

#include "simulator/upper_bound/linear_program_solver.hpp"

namespace tessera {

struct ClpLimits {
    int iterations = 1'000'000;  // per solution
};

std::unique_ptr<LinearProgram> make_clp(std::span<const LpRow> rows, ClpLimits limits = {});

}  // namespace tessera
