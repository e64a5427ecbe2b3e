// The linear program of the bound. Its columns are configurations k: counts a_k of tasks per class
// that fit a node of shape s. Only how many nodes x_k are filled so need not be whole:
//
//     max  sum_k g(a_k) x_k       g: cards held
//     s.t. sum_k sum_{c in d} n_c a_kc x_k <= D_d  cards of demand d; n_c: of a task of class c
//          sum_{k in s} x_k = N_s                 nodes of shape s
//          sum_{k in s} mem(a_k) x_k <= N_s M_s   memory of these
//          sum_k (CPU_s - cpu(a_k)) x_k >= C      CPU of the tasks without cards, where these are
//          kept
#pragma once

#include <vector>

#include "domain/placement/bound/best_packing.hpp"
#include "domain/placement/bound/linear_program.hpp"
#include "domain/placement/bound/problem.hpp"

namespace tessera {

// What the rows' limits are worth, in cards; each >= 0 but `node`.
struct Prices {
    std::vector<double> card;    // per demand, per card that is asked for
    std::vector<double> node;    // per shape
    std::vector<double> memory;  // per shape, per MiB
    double kept_cpu = 0;         // per milli-core that is kept

    friend bool operator==(const Prices&, const Prices&) = default;
};

// `problem` outlives it.
class Master {
  public:
    explicit Master(const BoundProblem& problem) : problem_(&problem) {}

    [[nodiscard]] std::vector<LpRow> rows() const;
    [[nodiscard]] LpColumn column(std::size_t shape, const Packing& packing) const;
    // With a wrong sign, which a solver's tolerance allows, a price counts as 0.
    [[nodiscard]] Prices prices(const LpSolution& solution) const;

  private:
    [[nodiscard]] std::size_t node_row(std::size_t shape) const {
        return problem_->demands.size() + shape;
    }
    [[nodiscard]] std::size_t memory_row(std::size_t shape) const {
        return node_row(problem_->shapes.size()) + shape;
    }
    [[nodiscard]] std::size_t kept_row() const { return memory_row(problem_->shapes.size()); }

    const BoundProblem* problem_;
};

}  // namespace tessera
