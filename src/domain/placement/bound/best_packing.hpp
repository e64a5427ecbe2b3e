// The most valuable way to fill a node: the pricing step of the bound's column generation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/bound/problem.hpp"

namespace tessera {

// CPU is counted in steps of this many milli-cores. What tasks ask for is rounded down, so that
// whatever fits a node fits here as well.
inline constexpr int kCpuGridMilli = 50;

// `count` tasks of the class with this index.
struct PackedClass {
    int index = 0;
    int count = 0;

    friend bool operator==(const PackedClass&, const PackedClass&) = default;
};

// What a node holds, and the sum of its values.
struct Packing {
    double value = 0;
    std::vector<PackedClass> classes;  // by index
};

// The best packings of all nodes with up to so many cards and so much CPU, when a task of class c
// is worth values[c]; classes worth nothing or less are left out. Exact, by dynamic programming:
//
//     F[w][cpu]    best of one card cut into parts of w milli at most: an unbounded knapsack
//     H[k][cpu]    best of k cards = max(H[k-1] + F[1000], H[k-n] + a task of n whole cards)
//
// each as the steps at which it rises with the CPU. Memory and how many tasks there are play no
// part.
class BestPackings {
  public:
    BestPackings(std::span<const BoundClass> classes, std::span<const double> values, int cards,
                 std::int32_t cpu_milli);

    // For a node with no more cards and CPU than the table is for.
    [[nodiscard]] Packing best(int cards, std::int32_t cpu_milli) const;

  private:
    static constexpr int kIdle = -1;  // in Step::added: nothing
    static constexpr int kCut = -2;   // a card's parts, the step `part` of F[1000]

    struct Step {
        std::int32_t cpu = 0;  // in steps of the grid
        double value = 0;
        std::int32_t added = kIdle;  // a class, or one of the above
        std::int32_t part = 0;
        std::int32_t from = 0;  // the step that it was added to
    };
    using Steps = std::vector<Step>;  // rising in CPU and in value
    class Rise;

    void cut_one_card(std::span<const double> values);
    void join_cards(std::span<const double> values, int cards);
    [[nodiscard]] int level_of(const BoundClass& one) const { return one.milli / milli_per_level_; }

    std::span<const BoundClass> classes_;
    std::int32_t cpu_;  // in steps of the grid
    int milli_per_level_ = kMilliPerCard;
    std::vector<Steps> cut_;     // F by w, in levels
    std::vector<Steps> joined_;  // H by k
};

}  // namespace tessera
