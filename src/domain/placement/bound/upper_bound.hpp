// How much of the cards any placement could hold at most, by column generation (Gilmore and Gomory
// 1961, "A linear programming approach to the cutting-stock problem"): the master program has few
// configurations, and for the prices that it sets the most valuable configuration of each shape is
// found exactly and added, until none is worth its node.
//
// What is told is not the master's value but the Lagrangian bound of the prices p (Lübbecke and
// Desrosiers 2005, "Selected topics in column generation"), which holds for any p >= 0, so that the
// solver need not be trusted:
//
//     sum_d p_d D_d + sum_s N_s (z_s(p) + p_mem,s M_s + p_cpu CPU_s) - p_cpu C
//
// z_s(p): the most that a configuration's tasks are worth, one of class c of demand d being worth
// g_c - n_c p_d - p_mem,s mem_c - p_cpu cpu_c.
#pragma once

#include "base/result.hpp"
#include "domain/placement/bound/linear_program.hpp"
#include "domain/placement/bound/problem.hpp"

namespace tessera {

struct UpperBound {
    double cards = 0;    // no placement holds more
    double reached = 0;  // by the master program, which may fill a node in part; <= its optimum
    int rounds = 0;
    int configurations = 0;  // that the program chose from at the end
};

// Ends when `cards` is within `gap_cards` of `reached`, when no configuration is left to gain from,
// or after 2,000 rounds, with what it has by then. `solve` has master_rows() and no column yet.
// invalid_argument: the tasks without cards, which are to be kept, want more CPU than there is.
Result<UpperBound> upper_bound(const BoundProblem& problem, const SolveLp& solve, double gap_cards);

// The rows of the program that `solve` is for.
std::vector<LpRow> master_rows(const BoundProblem& problem);

// Whether it is proven that some task must be dropped. Errors: those of `solve`.
Result<bool> must_drop(const BoundProblem& problem, const SolveLp& solve);

}  // namespace tessera
