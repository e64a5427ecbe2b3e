#include "domain/placement/engine/fgd.hpp"

#include <cmath>

#include "domain/placement/engine/fragmentation.hpp"

namespace tessera {
namespace {

class Fgd final : public PlacementPolicy {
  public:
    explicit Fgd(std::span<const MixClass> mix) : fragmentation_(mix) {}

    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<Fgd>(*this);
    }
    [[nodiscard]] bool is_slow() const override { return true; }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        const double before = fragmentation_.of(load);
        const bool is_share = task.count == 1 && task.milli < kMilliPerGpu;
        if (!is_share) {
            const GpuSet gpus = tightest_gpus(load, task);
            return {score(before, load, task, gpus), gpus};
        }
        PolicyScore best{-1, 0};
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            if (load.milli[static_cast<std::size_t>(gpu)] < task.milli) continue;
            if (has_twin_before(load, gpu)) continue;
            const int one = score(before, load, task, gpu_bit(gpu));
            if (one > best.score) best = {one, gpu_bit(gpu)};
        }
        return best;
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load,
                                               const PlacementTask& task) override {
        const GpuSet gpus = score(load, task, 0).gpus;
        return {{"fragmentation before", fragmentation_.of(load)},
                {"after", fragmentation_.of(load_after(load, task, gpus))}};
    }

  private:
    int score(double before, const NodeLoad& load, const PlacementTask& task, GpuSet gpus) {
        const double after = fragmentation_.of(load_after(load, task, gpus));
        return static_cast<int>(1.0 / (1.0 + std::exp(-((before - after) / 1000))) * 100.0);
    }

    Fragmentation fragmentation_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> fgd_policy(const PolicyInputs& inputs) {
    return std::make_unique<Fgd>(inputs.mix);
}

}  // namespace tessera
