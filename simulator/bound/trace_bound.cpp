#include "simulator/bound/trace_bound.hpp"

#include <span>
#include <utility>

#include "simulator/replay/replay.hpp"

namespace tessera {
namespace {

class TraceBound final : public BoundSubject {
  public:
    TraceBound(TraceName name, Workload workload)
        : name_(std::move(name)), workload_(std::move(workload)) {
        for (const NodeShape& node : workload_.nodes)
            capacity_milli_ += std::int64_t{node.gpus} * kMilliPerGpu;
        asked_milli_.reserve(workload_.arrivals.size());
        for (const PlacementTask& task : workload_.arrivals)
            asked_milli_.push_back(milli_of(task));
    }

    [[nodiscard]] TraceName name() const override { return name_; }
    [[nodiscard]] std::int64_t capacity_milli() const override { return capacity_milli_; }
    [[nodiscard]] const std::vector<std::int64_t>& asked_milli() const override {
        return asked_milli_;
    }
    [[nodiscard]] BoundProblem problem(std::size_t first_arrivals,
                                       CpuOnlyTasks cpu_only) const override {
        return bound_problem(workload_.nodes, std::span(workload_.arrivals).first(first_arrivals),
                             cpu_only);
    }
    [[nodiscard]] std::vector<std::int64_t> allocated_milli(
        const PlacementPolicyRow& policy) const override {
        const auto placed = replay(workload_, policy, {.draws = name_.seed});
        std::vector<std::int64_t> allocated(placed.size());
        for (std::size_t i = 0; i < placed.size(); ++i)
            allocated[i] = placed[i].node >= 0 ? asked_milli_[i] : 0;
        return allocated;
    }

  private:
    TraceName name_;
    Workload workload_;
    std::int64_t capacity_milli_ = 0;
    std::vector<std::int64_t> asked_milli_;
};

}  // namespace

std::unique_ptr<BoundSubject> trace_bound(TraceName name, Workload workload) {
    return std::make_unique<TraceBound>(std::move(name), std::move(workload));
}

}  // namespace tessera
