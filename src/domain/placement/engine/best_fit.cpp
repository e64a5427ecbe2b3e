#include "domain/placement/engine/best_fit.hpp"

namespace tessera {
namespace {

constexpr double kLargestCpu = 128'000;
constexpr double kLargestGpu = 8'000;

class BestFit final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<BestFit>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        const Left left = left_of(load, task);
        return {static_cast<std::int32_t>((1.0 - (left.cpu + left.gpu)) * 100),
                tightest_gpus(load, task)};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load,
                                               const PlacementTask& task) override {
        const Left left = left_of(load, task);
        return {{"cpu left", left.cpu}, {"gpu left", left.gpu}};
    }

  private:
    struct Left {
        double cpu;
        double gpu;
    };

    static Left left_of(const NodeLoad& load, const PlacementTask& task) {
        const int cpu = load.cpu_milli - task.cpu_milli;
        const int gpu = load.free_milli() - milli_of(task);
        return {cpu / kLargestCpu * 0.5, gpu / kLargestGpu * 0.5};
    }
};

}  // namespace

std::unique_ptr<PlacementPolicy> best_fit_policy(const PolicyInputs&) {
    return std::make_unique<BestFit>();
}

}  // namespace tessera
