#include "simulator/upper_bound/upper_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/upper_bound/best_packing.hpp"
#include "simulator/upper_bound/master.hpp"

namespace tessera {
namespace {

constexpr int kMostRounds = 2'000;
// A smaller gain of a configuration is the solver's rounding.
constexpr double kNoGain = 1e-9;
// The tolerance for "all tasks are placed".
constexpr double kAllPlaced = 1e-6;

// The most valuable configuration of each shape. Shapes with equal task values share a table.
std::vector<Packing> best_packings(const BoundProblem& problem, const Prices& prices) {
    std::map<std::vector<double>, std::vector<std::size_t>> alike;
    for (std::size_t shape = 0; shape < problem.shapes.size(); ++shape) {
        std::vector<double> values;
        for (std::size_t i = 0; i < problem.classes.size(); ++i) {
            const BoundClass& one = problem.classes[i];
            const bool runs = (one.models & model_bit(problem.shapes[shape].node.model)) != 0;
            const double worth = one.gain() - prices.gpu[one.demand] * one.count -
                                 prices.memory[shape] * one.memory_mib -
                                 prices.kept_cpu * one.cpu_milli;
            values.push_back(runs ? std::max(0.0, worth) : 0);
        }
        alike[std::move(values)].push_back(shape);
    }
    std::vector<Packing> packings(problem.shapes.size());
    for (const auto& [values, shapes] : alike) {
        int gpus = 0;
        std::int32_t cpu_milli = 0;
        for (const std::size_t shape : shapes) {
            gpus = std::max(gpus, problem.shapes[shape].node.gpus);
            cpu_milli = std::max(cpu_milli, problem.shapes[shape].node.cpu_milli);
        }
        const BestPackings table(problem.classes, values, gpus, cpu_milli);
        for (const std::size_t shape : shapes) {
            const NodeShape& node = problem.shapes[shape].node;
            packings[shape] = table.best(node.gpus, node.cpu_milli);
        }
    }
    return packings;
}

// A node's contribution to the Lagrangian bound.
double node_worth(const NodeShape& node, double memory_price, double cpu_price,
                  const Packing& packing) {
    return packing.value + memory_price * node.memory_mib + cpu_price * node.cpu_milli;
}

double lagrangian(const BoundProblem& problem, const Prices& prices,
                  const std::vector<Packing>& packings) {
    double sum = -prices.kept_cpu * static_cast<double>(problem.kept_cpu_milli);
    for (std::size_t i = 0; i < problem.demands.size(); ++i)
        sum += prices.gpu[i] * static_cast<double>(problem.demands[i].gpus);
    for (std::size_t shape = 0; shape < problem.shapes.size(); ++shape) {
        sum += problem.shapes[shape].nodes * node_worth(problem.shapes[shape].node,
                                                        prices.memory[shape], prices.kept_cpu,
                                                        packings[shape]);
    }
    return sum;
}

std::vector<LpColumn> empty_nodes(const BoundProblem& problem, const Master& master) {
    std::vector<LpColumn> columns;
    columns.reserve(problem.shapes.size());
    for (std::size_t shape = 0; shape < problem.shapes.size(); ++shape)
        columns.push_back(master.column(shape, {}));
    return columns;
}

bool wants_too_much_cpu(const BoundProblem& problem) {
    return problem.kept_cpu_milli > problem.cpu_milli();
}

// Runs until `is_enough`, or until no configuration improves the result. `most` is an upper limit
// of the gain.
template <class Enough>
Result<UpperBound> generate(const BoundProblem& problem, const SolveLp& solve, double most,
                            Enough is_enough) {
    if (wants_too_much_cpu(problem)) {
        return fail(Code::invalid_argument,
                    fmt::format("the tasks without GPUs request {} cores and the nodes have {}; "
                                "they cannot all be kept",
                                problem.kept_cpu_milli / 1000, problem.cpu_milli() / 1000));
    }
    const Master master(problem);
    UpperBound bound{.gpus = most};
    std::vector<LpColumn> columns = empty_nodes(problem, master);
    while (bound.rounds < kMostRounds) {
        TRY(const LpSolution solution, solve(columns));
        const Prices prices = master.prices(solution);
        const std::vector<Packing> packings = best_packings(problem, prices);
        ++bound.rounds;
        bound.configurations += static_cast<int>(columns.size());
        bound.reached = solution.gain;
        bound.gpus = std::min(bound.gpus, lagrangian(problem, prices, packings));
        columns.clear();
        for (std::size_t shape = 0; shape < packings.size(); ++shape) {
            const double worth =
                packings[shape].value + prices.kept_cpu * problem.shapes[shape].node.cpu_milli;
            if (worth > prices.node[shape] + kNoGain)
                columns.push_back(master.column(shape, packings[shape]));
        }
        if (columns.empty() || is_enough(bound)) return bound;
    }
    return bound;
}

}  // namespace

std::vector<LpRow> master_rows(const BoundProblem& problem) {
    return Master(problem).rows();
}

Result<UpperBound> upper_bound(const BoundProblem& problem, const SolveLp& solve, double gap_gpus) {
    const double most = std::min(problem.gpus(), problem.asked_gpus());
    return generate(problem, solve, most, [&](const UpperBound& bound) {
        return bound.gpus - bound.reached <= gap_gpus;
    });
}

Result<bool> must_drop(const BoundProblem& problem, const SolveLp& solve) {
    if (wants_too_much_cpu(problem)) return true;
    // All ways of a task get the same gain. The full gain is then reached exactly if all tasks are
    // placed.
    BoundProblem alike = problem;
    for (BoundClass& one : alike.classes)
        one.gain_milli = alike.demands[one.demand].most_milli;
    const double asked = problem.asked_gpus();
    TRY(const UpperBound bound, generate(alike, solve, asked, [&](const UpperBound& now) {
            return now.gpus < asked - kAllPlaced || now.reached > asked - kAllPlaced;
        }));
    return bound.gpus < asked - kAllPlaced;
}

}  // namespace tessera
