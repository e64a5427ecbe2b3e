#include "simulator/upper_bound/master.hpp"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

// Units of memory and CPU in the program, so that its numbers have similar sizes.
constexpr double kMibPerUnit = 1024;
constexpr double kMilliCoresPerUnit = 1000;

}  // namespace

std::vector<LpRow> Master::rows() const {
    std::vector<LpRow> rows;
    rows.reserve(kept_row() + 1);
    for (const BoundDemand& one : problem_->demands)
        rows.push_back({.most = static_cast<double>(one.gpus)});
    for (const BoundShape& shape : problem_->shapes) {
        const auto nodes = static_cast<double>(shape.nodes);
        rows.push_back({.least = nodes, .most = nodes});
    }
    for (const BoundShape& shape : problem_->shapes)
        rows.push_back({.most = shape.nodes * (shape.node.memory_mib / kMibPerUnit)});
    if (problem_->kept_cpu_milli > 0) {
        rows.push_back(
            {.least = static_cast<double>(problem_->kept_cpu_milli) / kMilliCoresPerUnit});
    }
    return rows;
}

LpColumn Master::column(std::size_t shape, const Packing& packing) const {
    LpColumn column;
    std::map<std::size_t, double> gpus;  // by demand
    double memory_mib = 0;
    double cpu_milli = problem_->shapes[shape].node.cpu_milli;
    for (const PackedClass& packed : packing.classes) {
        const BoundClass& one = problem_->classes[static_cast<std::size_t>(packed.index)];
        column.gain += packed.count * one.gain();
        memory_mib += static_cast<double>(packed.count) * one.memory_mib;
        cpu_milli -= static_cast<double>(packed.count) * one.cpu_milli;
        gpus[one.demand] += static_cast<double>(packed.count) * one.count;
    }
    for (const auto& [demand, count] : gpus)
        column.entries.push_back({static_cast<int>(demand), count});
    column.entries.push_back({static_cast<int>(node_row(shape)), 1});
    column.entries.push_back({static_cast<int>(memory_row(shape)), memory_mib / kMibPerUnit});
    if (problem_->kept_cpu_milli > 0)
        column.entries.push_back({static_cast<int>(kept_row()), cpu_milli / kMilliCoresPerUnit});
    return column;
}

Prices Master::prices(const LpSolution& solution) const {
    Prices prices;
    for (std::size_t i = 0; i < problem_->demands.size(); ++i)
        prices.gpu.push_back(std::max(0.0, solution.prices[i]));
    for (std::size_t shape = 0; shape < problem_->shapes.size(); ++shape) {
        prices.node.push_back(solution.prices[node_row(shape)]);
        prices.memory.push_back(std::max(0.0, solution.prices[memory_row(shape)]) / kMibPerUnit);
    }
    if (problem_->kept_cpu_milli > 0)
        prices.kept_cpu = std::max(0.0, -solution.prices[kept_row()]) / kMilliCoresPerUnit;
    return prices;
}

}  // namespace tessera
