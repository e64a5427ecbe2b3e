#include "simulator/upper_bound/problem.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

// A class without its memory and its demand.
using WayKey = std::tuple<ModelSet, int, int, int>;

WayKey key_of(const BoundClass& one) {
    return {one.models, one.count, one.milli, one.cpu_milli};
}

class Collector {
  public:
    explicit Collector(std::span<const NodeShape> nodes) {
        std::map<std::tuple<int, int, int, int>, BoundShape> shapes;
        for (const NodeShape& node : nodes) {
            BoundShape& shape =
                shapes[std::tuple(node.model, node.gpus, node.cpu_milli, node.memory_mib)];
            shape.node = node;
            ++shape.nodes;
            there_ |= model_bit(node.model);
        }
        for (const auto& [key, shape] : shapes)
            problem_.shapes.push_back(shape);
    }

    void keep(const PlacementTask& cpu_only) { problem_.kept_cpu_milli += cpu_only.cpu_milli; }

    void add(std::span<const BoundWay> ways) {
        if (ways.empty()) return;
        key_.clear();
        classes_.clear();
        for (const BoundWay& way : ways) {
            classes_.push_back(class_of(way));
            key_.push_back(key_of(classes_.back()));
        }
        Found& found = found_[key_];
        found.gpus += ways.front().task.count;
        if (found.classes.empty()) found.classes = classes_;
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            found.classes[i].memory_mib =
                std::min(found.classes[i].memory_mib, classes_[i].memory_mib);
        }
    }

    BoundProblem take() {
        for (auto& [key, found] : found_) {
            BoundDemand demand{.gpus = found.gpus};
            for (BoundClass& one : found.classes) {
                one.demand = problem_.demands.size();
                demand.most_milli = std::max(demand.most_milli, one.milli);
                problem_.classes.push_back(one);
            }
            problem_.demands.push_back(demand);
        }
        return std::move(problem_);
    }

  private:
    struct Found {
        std::int64_t gpus = 0;
        std::vector<BoundClass> classes;
    };

    [[nodiscard]] BoundClass class_of(const BoundWay& way) const {
        const PlacementTask& task = way.task;
        const bool is_in_parts = way.by_gpu || task.milli < kMilliPerGpu;
        const std::int16_t parts = is_in_parts ? task.count : std::int16_t{1};
        return {.cpu_milli = task.cpu_milli / parts,
                .memory_mib = task.memory_mib / parts,
                .milli = task.milli,
                .count = is_in_parts ? std::int16_t{1} : task.count,
                .models = task.models & there_,  // naming all models equals naming none
                .gain_milli = task.milli};
    }

    BoundProblem problem_;
    ModelSet there_ = 0;
    std::map<std::vector<WayKey>, Found> found_;
    std::vector<WayKey> key_;          // of the current task
    std::vector<BoundClass> classes_;  // parallel
};

}  // namespace

double BoundProblem::asked_gpus() const {
    double sum = 0;
    for (const BoundDemand& one : demands)
        sum += static_cast<double>(one.most_milli) * static_cast<double>(one.gpus) / kMilliPerGpu;
    return sum;
}

double BoundProblem::gpus() const {
    double sum = 0;
    for (const BoundShape& shape : shapes)
        sum += static_cast<double>(shape.node.gpus) * shape.nodes;
    return sum;
}

std::int64_t BoundProblem::cpu_milli() const {
    std::int64_t sum = 0;
    for (const BoundShape& shape : shapes)
        sum += std::int64_t{shape.node.cpu_milli} * shape.nodes;
    return sum;
}

BoundProblem bound_problem(std::span<const NodeShape> nodes, std::span<const PlacementTask> tasks,
                           CpuOnlyTasks cpu_only) {
    Collector collector(nodes);
    for (const PlacementTask& task : tasks) {
        const BoundWay way{task};
        if (task.count > 0) {
            collector.add({&way, 1});
        } else if (cpu_only == CpuOnlyTasks::are_kept) {
            collector.keep(task);
        }
    }
    return collector.take();
}

BoundProblem bound_problem(std::span<const NodeShape> nodes,
                           std::span<const std::vector<BoundWay>> tasks) {
    Collector collector(nodes);
    for (const std::vector<BoundWay>& ways : tasks)
        collector.add(ways);
    return collector.take();
}

}  // namespace tessera
