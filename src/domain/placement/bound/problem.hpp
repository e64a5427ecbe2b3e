// What is asked of the bound: how much of the cards could the tasks hold, however they are placed
// on the nodes?
//
// Everything here is in favour of the bound, which must never be too low: tasks of a class count
// with the least memory among them, and a task that asks for parts of several cards counts as that
// many tasks with a part of one, which need not be on one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// Tasks that ask for the same CPU, cards and models. `count` is above 1 for whole cards only.
struct BoundClass {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;  // the least that one of them asks for
    std::int16_t milli = 0;
    std::int16_t count = 0;
    ModelSet models = kAnyModel;
    int tasks = 0;

    // What one of them holds, in cards.
    [[nodiscard]] double cards() const {
        return static_cast<double>(milli) * count / kMilliPerCard;
    }

    friend bool operator==(const BoundClass&, const BoundClass&) = default;
};

// Nodes that have the same.
struct BoundShape {
    NodeShape node;
    int nodes = 0;

    friend bool operator==(const BoundShape&, const BoundShape&) = default;
};

// May a placement drop tasks that ask for no cards, to leave their CPU to others?
enum class CpuOnlyTasks { may_be_dropped, are_kept };

struct BoundProblem {
    std::vector<BoundClass> classes;  // of tasks that ask for cards
    std::vector<BoundShape> shapes;
    std::int64_t kept_cpu_milli = 0;  // of the tasks without cards, where they are kept

    // All that the tasks ask for, in cards.
    [[nodiscard]] double asked_cards() const;
    // All that the nodes have.
    [[nodiscard]] double cards() const;
    [[nodiscard]] std::int64_t cpu_milli() const;
};

// Classes and shapes in an order of their own, whatever the order of nodes and tasks.
BoundProblem bound_problem(std::span<const NodeShape> nodes, std::span<const Task> tasks,
                           CpuOnlyTasks cpu_only);

}  // namespace tessera
