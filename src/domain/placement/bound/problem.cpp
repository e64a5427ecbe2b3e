#include "domain/placement/bound/problem.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera {
namespace {

BoundClass class_of(const Task& task) {
    const bool is_cut = task.milli < kMilliPerCard;
    const std::int16_t parts = is_cut ? task.count : std::int16_t{1};
    return {.cpu_milli = task.cpu_milli / parts,
            .memory_mib = task.memory_mib / parts,
            .milli = task.milli,
            .count = is_cut ? std::int16_t{1} : task.count,
            .models = task.models,
            .tasks = parts};
}

}  // namespace

double BoundProblem::asked_cards() const {
    double sum = 0;
    for (const BoundClass& one : classes)
        sum += one.cards() * one.tasks;
    return sum;
}

double BoundProblem::cards() const {
    double sum = 0;
    for (const BoundShape& shape : shapes)
        sum += static_cast<double>(shape.node.cards) * shape.nodes;
    return sum;
}

std::int64_t BoundProblem::cpu_milli() const {
    std::int64_t sum = 0;
    for (const BoundShape& shape : shapes)
        sum += std::int64_t{shape.node.cpu_milli} * shape.nodes;
    return sum;
}

BoundProblem bound_problem(std::span<const NodeShape> nodes, std::span<const Task> tasks,
                           CpuOnlyTasks cpu_only) {
    std::map<std::tuple<int, int, int, int>, BoundShape> shapes;
    ModelSet there = 0;
    for (const NodeShape& node : nodes) {
        BoundShape& shape =
            shapes[std::tuple(node.model, node.cards, node.cpu_milli, node.memory_mib)];
        shape.node = node;
        ++shape.nodes;
        there |= model_bit(node.model);
    }
    BoundProblem problem;
    std::map<std::tuple<ModelSet, int, int, int>, BoundClass> classes;
    for (const Task& task : tasks) {
        if (task.count == 0) {
            if (cpu_only == CpuOnlyTasks::are_kept) problem.kept_cpu_milli += task.cpu_milli;
            continue;
        }
        BoundClass one = class_of(task);
        one.models &= there;  // so that all models named are the same as any
        const auto [at, is_new] =
            classes.try_emplace(std::tuple(one.models, one.count, one.milli, one.cpu_milli), one);
        if (is_new) continue;
        at->second.tasks += one.tasks;
        at->second.memory_mib = std::min(at->second.memory_mib, one.memory_mib);
    }
    for (const auto& [key, one] : classes)
        problem.classes.push_back(one);
    for (const auto& [key, shape] : shapes)
        problem.shapes.push_back(shape);
    return problem;
}

}  // namespace tessera
