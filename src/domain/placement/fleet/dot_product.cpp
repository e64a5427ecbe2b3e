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
        const double cpu = (load.cpu_milli / kLargestCpu) * (task.cpu_milli / kLargestCpu);
        const double gpu = (load.free_milli() / kLargestGpu) * (milli_of(task) / kLargestGpu);
        const double likeness = (cpu + gpu) / 2.0;
        return {static_cast<std::int32_t>(100 * (1 - likeness)), tightest_cards(load, task)};
    }
};

}  // namespace

std::unique_ptr<FleetPolicy> dot_product_policy(const PolicyInputs&) {
    return std::make_unique<DotProduct>();
}

}  // namespace tessera
