// Compares the best packing of a node with all possible packings.
#include "simulator/upper_bound/best_packing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

namespace tessera {
namespace {

// A node's free parts and CPU, and the CPU that a class takes of it.
struct FreeNode {
    std::vector<int> milli;
    int cpu = 0;
};
using CpuOf = std::function<int(const BoundClass&)>;

// Every way to add one more task of the class.
std::vector<FreeNode> with_one(const FreeNode& node, const BoundClass& one, int cpu) {
    std::vector<FreeNode> nodes;
    if (cpu > node.cpu) return nodes;
    if (one.count == 1) {
        for (std::size_t gpu = 0; gpu < node.milli.size(); ++gpu) {
            if (node.milli[gpu] < one.milli) continue;
            nodes.push_back(node);
            nodes.back().milli[gpu] -= one.milli;
            nodes.back().cpu -= cpu;
        }
        return nodes;
    }
    // Whole GPUs are equal.
    FreeNode less = node;
    less.cpu -= cpu;
    int left = one.count;
    for (int& milli : less.milli)
        if (left > 0 && milli == kMilliPerGpu) milli = 0, --left;
    if (left == 0) nodes.push_back(less);
    return nodes;
}

double most(const FreeNode& node, std::span<const BoundClass> classes,
            std::span<const double> values, const CpuOf& cpu_of, std::size_t from = 0) {
    double best = 0;
    for (std::size_t i = from; i < classes.size(); ++i) {
        if (values[i] <= 0) continue;
        for (const FreeNode& less : with_one(node, classes[i], cpu_of(classes[i])))
            best = std::max(best, values[i] + most(less, classes, values, cpu_of, i));
    }
    return best;
}

bool fits(const FreeNode& node, std::span<const BoundClass> classes,
          std::vector<PackedClass> packed) {
    while (!packed.empty() && packed.back().count == 0)
        packed.pop_back();
    if (packed.empty()) return true;
    --packed.back().count;
    const BoundClass& one = classes[static_cast<std::size_t>(packed.back().index)];
    return std::ranges::any_of(with_one(node, one, one.cpu_milli / kCpuGridMilli),
                               [&](const FreeNode& less) { return fits(less, classes, packed); });
}

std::vector<BoundClass> any_classes() {
    std::vector<BoundClass> classes;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        const auto milli = *rc::gen::elementOf(
            std::vector<std::int16_t>{250, 330, 370, 460, 500, 650, 810, 1000, 1000});
        const auto count = *rc::gen::elementOf(std::vector<std::int16_t>{1, 2, 3});
        classes.push_back({.cpu_milli = *rc::gen::inRange(0, 900),
                           .milli = milli,
                           .count = milli == kMilliPerGpu ? count : std::int16_t{1}});
    }
    return classes;
}

FreeNode empty_node(int gpus, int cpu) {
    return {std::vector<int>(static_cast<std::size_t>(gpus), kMilliPerGpu), cpu};
}

// Goal: for any classes and values, the table's packing of a node fits and has the stated value,
// and no packing on the grid has more.
RC_GTEST_PROP(BestPackings, AreTheBestOfAll, ()) {
    const std::vector<BoundClass> classes = any_classes();
    std::vector<double> values;
    for (std::size_t i = 0; i < classes.size(); ++i)
        values.push_back(*rc::gen::inRange(-2, 12) / 8.0);
    const int gpus = *rc::gen::inRange(0, 4);
    const int cpu_milli = *rc::gen::inRange(0, 2'000);
    const BestPackings table(classes, values, 3, 2'000);
    const Packing packing = table.best(gpus, cpu_milli);

    const FreeNode node = empty_node(gpus, cpu_milli / kCpuGridMilli);
    double worth = 0;
    for (const PackedClass& packed : packing.classes)
        worth += packed.count * values[static_cast<std::size_t>(packed.index)];
    RC_ASSERT(worth == packing.value);
    RC_ASSERT(fits(node, classes, packing.classes));
    RC_ASSERT(packing.value == most(node, classes, values, [](const BoundClass& one) {
                  return one.cpu_milli / kCpuGridMilli;
              }));
    // Rounding raises the bound.
    RC_ASSERT(packing.value >= most(empty_node(gpus, cpu_milli), classes, values,
                                    [](const BoundClass& one) { return one.cpu_milli; }));
}

// Goal: a part is cut from one GPU, never from two.
TEST(BestPackings, CutEveryGpuByItself) {
    const std::vector<BoundClass> classes = {{.milli = 400, .count = 1},
                                             {.milli = 810, .count = 1}};
    const std::vector<double> values = {0.4, 0.81};
    const Packing packing = BestPackings(classes, values, 2, 0).best(2, 0);
    EXPECT_DOUBLE_EQ(packing.value, 1.62);
    EXPECT_EQ(packing.classes, (std::vector<PackedClass>{{1, 2}}));
}

// Goal: a node without GPUs, and tasks without value, give an empty packing.
TEST(BestPackings, MayBeEmpty) {
    const std::vector<BoundClass> classes = {{.milli = 500, .count = 1},
                                             {.milli = 1000, .count = 2}};
    for (const std::vector<double>& values : {std::vector{1.0, 1.0}, std::vector{0.0, -1.0}}) {
        const Packing packing =
            BestPackings(classes, values, 4, 1'000).best(values[0] > 0 ? 0 : 4, 1'000);
        EXPECT_EQ(packing.value, 0);
        EXPECT_TRUE(packing.classes.empty());
    }
}

}  // namespace
}  // namespace tessera
