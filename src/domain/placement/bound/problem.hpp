// What is asked of the bound: how much of the cards could the tasks hold, however they are placed
// on the nodes?
//
// Where cards have several sizes, a share of bytes is another task on each: the tasks of one demand
// are placed in one of several ways.
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

// One of the ways in which a task may be placed: what it asks for on cards of one size.
struct BoundWay {
    Task task;
    // Its whole cards count one by one, wherever they are: for nodes that stand in here as several,
    // one for each kind of card.
    bool by_card = false;
};

// Tasks that may be placed in the same ways, in one of these each.
struct BoundDemand {
    std::int64_t cards = 0;       // that they ask for in all, parts of a card counted as one
    std::int16_t most_milli = 0;  // of one card, in the way in which they hold the most

    friend bool operator==(const BoundDemand&, const BoundDemand&) = default;
};

// Tasks of a demand in one of its ways. `count` is above 1 for whole cards only.
struct BoundClass {
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;  // the least that one of them asks for
    std::int16_t milli = 0;
    std::int16_t count = 0;
    ModelSet models = kAnyModel;
    std::size_t demand = 0;
    std::int16_t gain_milli = 0;  // what is gained by each of its cards: what it holds

    // What is gained by one of them, in cards.
    [[nodiscard]] double gain() const {
        return static_cast<double>(gain_milli) * count / kMilliPerCard;
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
    std::vector<BoundDemand> demands;  // of tasks that ask for cards
    std::vector<BoundClass> classes;
    std::vector<BoundShape> shapes;
    std::int64_t kept_cpu_milli = 0;  // of the tasks without cards, where they are kept

    // All that the tasks ask for, in cards, each in the way in which it holds the most.
    [[nodiscard]] double asked_cards() const;
    // All that the nodes have.
    [[nodiscard]] double cards() const;
    [[nodiscard]] std::int64_t cpu_milli() const;
};

// Demands, classes and shapes in an order of their own, whatever the order of nodes and tasks.
BoundProblem bound_problem(std::span<const NodeShape> nodes, std::span<const Task> tasks,
                           CpuOnlyTasks cpu_only);
// The same of tasks that may be placed in several ways, each of which asks for the same number of
// cards, at least one.
BoundProblem bound_problem(std::span<const NodeShape> nodes,
                           std::span<const std::vector<BoundWay>> tasks);

}  // namespace tessera
