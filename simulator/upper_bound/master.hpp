// The linear program of the bound. Its columns are configurations k: counts a_k of tasks per class
// that fit on a node of shape s. The number x_k of nodes with configuration k need not be whole.
//
//     max  sum_k g(a_k) x_k
//
//     s.t. sum_k sum_{c in d} n_c a_kc x_k <= D_d
//
//          sum_{k in s} x_k = N_s
//          sum_{k in s} mem(a_k) x_k <= N_s M_s
//
//          sum_k (CPU_s - cpu(a_k)) x_k >= C
//
// g is the number of GPUs used. The rows limit the GPUs of each demand d (n_c: GPUs of a task of
// class c), the nodes of each shape s, and their memory. The last row keeps the CPU of the tasks
// without GPUs, if these must be kept.
#pragma once

#include <vector>

#include "simulator/upper_bound/best_packing.hpp"
#include "simulator/upper_bound/linear_program.hpp"
#include "simulator/upper_bound/problem.hpp"

namespace tessera {

// The values of the rows' limits, in GPUs; all are >= 0, except `node`.
struct Prices {
    std::vector<double> gpu;     // per demand, per requested GPU
    std::vector<double> node;    // per shape
    std::vector<double> memory;  // per shape, per MiB
    double kept_cpu = 0;         // per milli-core of the tasks that are kept

    friend bool operator==(const Prices&, const Prices&) = default;
};

// `problem` must outlive it.
class Master {
  public:
    explicit Master(const BoundProblem& problem) : problem_(&problem) {}

    [[nodiscard]] std::vector<LpRow> rows() const;
    [[nodiscard]] LpColumn column(std::size_t shape, const Packing& packing) const;
    // A price with a wrong sign, which a solver's tolerance allows, counts as 0.
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
