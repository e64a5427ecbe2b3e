#include "domain/placement/engine/dot_product.hpp"

namespace tessera {
namespace {

constexpr double kLargestCpu = 128'000;
constexpr double kLargestGpu = 8'000;

class DotProduct final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<DotProduct>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        const double likeness = (cpu_of(load, task) + gpu_of(load, task)) / 2.0;
        return {static_cast<std::int32_t>(100 * (1 - likeness)), tightest_gpus(load, task)};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load,
                                               const PlacementTask& task) override {
        return {{"cpu likeness", cpu_of(load, task)}, {"gpu likeness", gpu_of(load, task)}};
    }

  private:
    static double cpu_of(const NodeLoad& load, const PlacementTask& task) {
        return (load.cpu_milli / kLargestCpu) * (task.cpu_milli / kLargestCpu);
    }
    static double gpu_of(const NodeLoad& load, const PlacementTask& task) {
        return (load.free_milli() / kLargestGpu) * (milli_of(task) / kLargestGpu);
    }
};

}  // namespace

std::unique_ptr<PlacementPolicy> dot_product_policy(const PolicyInputs&) {
    return std::make_unique<DotProduct>();
}

}  // namespace tessera
