// The most valuable way to fill a node: the pricing step of the bound's column generation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/upper_bound/problem.hpp"

namespace tessera {

// CPU is counted in steps of this many milli-cores. Requests are rounded down, so that everything
// that fits on a node fits here as well.
inline constexpr int kCpuGridMilli = 50;

// `count` tasks of the class with this index.
struct PackedClass {
    int index = 0;
    int count = 0;

    friend bool operator==(const PackedClass&, const PackedClass&) = default;
};

// The tasks on a node, and the sum of their values.
struct Packing {
    double value = 0;
    std::vector<PackedClass> classes;  // by index
};

// The best packings of all nodes up to `gpus` GPUs and `cpu_milli` CPU. A task of class c is worth
// values[c]; classes worth nothing or less are left out. Exact, by dynamic programming:
//
//     F[w][cpu]    best of one GPU cut into parts of w milli at most: an unbounded knapsack
//
//     H[k][cpu]    best of k GPUs = max(H[k-1] + F[1000], H[k-n] + a task of n whole GPUs)
//
// Each is stored as the steps at which its value rises with the CPU. Memory and the number of
// existing tasks are ignored.
class BestPackings {
  public:
    BestPackings(std::span<const BoundClass> classes, std::span<const double> values, int gpus,
                 std::int32_t cpu_milli);

    // For a node with at most the GPUs and the CPU of the table.
    [[nodiscard]] Packing best(int gpus, std::int32_t cpu_milli) const;

  private:
    static constexpr int kIdle = -1;  // value of Step::added: nothing was added
    static constexpr int kCut =
        -2;  // value of Step::added: a GPU's parts, the step `part` of F[1000]

    struct Step {
        std::int32_t cpu = 0;  // in steps of the grid
        double value = 0;
        std::int32_t added = kIdle;  // a class, or one of the above
        std::int32_t part = 0;
        std::int32_t from = 0;  // the step to which it was added
    };
    using Steps = std::vector<Step>;  // rising in CPU and in value
    class Rise;

    void cut_one_gpu(std::span<const double> values);
    void join_gpus(std::span<const double> values, int gpus);
    [[nodiscard]] int level_of(const BoundClass& one) const { return one.milli / milli_per_level_; }

    std::span<const BoundClass> classes_;
    std::int32_t cpu_;  // in steps of the grid
    int milli_per_level_ = kMilliPerGpu;
    std::vector<Steps> cut_;     // F by w, in levels
    std::vector<Steps> joined_;  // H by k
};

}  // namespace tessera
