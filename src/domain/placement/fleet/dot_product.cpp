#include "domain/placement/fleet/dot_product.hpp"

namespace tessera {
namespace {

constexpr double kLargestCpu = 128'000;
constexpr double kLargestGpu = 8'000;

class DotProduct final : public FleetPolicy {
  public:
    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<DotProduct>(*this);
    }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t) override {
        const double likeness = (cpu_of(load, task) + gpu_of(load, task)) / 2.0;
        return {static_cast<std::int32_t>(100 * (1 - likeness)), tightest_cards(load, task)};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load, const Task& task) override {
        return {{"cpu likeness", cpu_of(load, task)}, {"gpu likeness", gpu_of(load, task)}};
    }

  private:
    static double cpu_of(const NodeLoad& load, const Task& task) {
        return (load.cpu_milli / kLargestCpu) * (task.cpu_milli / kLargestCpu);
    }
    static double gpu_of(const NodeLoad& load, const Task& task) {
        return (load.free_milli() / kLargestGpu) * (milli_of(task) / kLargestGpu);
    }
};

}  // namespace

std::unique_ptr<FleetPolicy> dot_product_policy(const PolicyInputs&) {
    return std::make_unique<DotProduct>();
}

}  // namespace tessera
