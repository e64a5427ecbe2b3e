// How much of the GPUs any placement can use at most, by column generation (Gilmore and Gomory
// 1961, "A linear programming approach to the cutting-stock problem"). The master program starts
// with few configurations. For its prices, the most valuable configuration of each shape is found
// exactly and added, until none is worth its node.
//
// The result is not the master's value but the Lagrangian bound of the prices p (Lübbecke and
// Desrosiers 2005, "Selected topics in column generation"). It is valid for any p >= 0, so that the
// solver need not be trusted:
//
//     sum_d p_d D_d + sum_s N_s (z_s(p) + p_mem,s M_s + p_cpu CPU_s) - p_cpu C
//
// z_s(p) is the highest value of a configuration's tasks. A task of class c of demand d has the
// value
//
//     g_c - n_c p_d - p_mem,s mem_c - p_cpu cpu_c
#pragma once

#include "base/result.hpp"
#include "simulator/upper_bound/linear_program.hpp"
#include "simulator/upper_bound/problem.hpp"

namespace tessera {

struct UpperBound {
    double gpus = 0;     // no placement uses more
    double reached = 0;  // by the master program, which may fill a node in part; <= its optimum
    int rounds = 0;
    int configurations = 0;  // the final number of columns
};

// Stops if `gpus` is within `gap_gpus` of `reached`, if no configuration improves the result, or
// after 2,000 rounds. `solve` must have the rows of master_rows() and no columns. invalid_argument:
// the tasks without GPUs must be kept, and they request more CPU than there is.
Result<UpperBound> upper_bound(const BoundProblem& problem, const SolveLp& solve, double gap_gpus);

// The rows of the program for `solve`.
std::vector<LpRow> master_rows(const BoundProblem& problem);

// Whether it is proven that some task must be dropped. Errors: those of `solve`.
Result<bool> must_drop(const BoundProblem& problem, const SolveLp& solve);

}  // namespace tessera
