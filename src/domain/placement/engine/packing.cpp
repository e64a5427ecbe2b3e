#include "domain/placement/engine/packing.hpp"

#include <algorithm>

namespace tessera {
namespace {

class Packing final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<Packing>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        if (task.count == 0) return {};
        const GpuSet gpus = tightest_gpus(load, task);
        int free_gpus = 0;
        int free_gpus_taken = 0;
        int percent_free = 0;
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            const int free = load.milli[static_cast<std::size_t>(gpu)];
            const bool is_taken = (gpus & gpu_bit(gpu)) != 0;
            free_gpus += free == kMilliPerGpu ? 1 : 0;
            free_gpus_taken += is_taken && free == kMilliPerGpu ? 1 : 0;
            percent_free += is_taken ? free * 100 / kMilliPerGpu : 0;
        }
        if (free_gpus == load.gpus) return {std::max(33 - free_gpus, free_gpus), gpus};
        if (free_gpus_taken > 0) return {std::max(50 - free_gpus_taken, 33), gpus};
        return {std::max(100 - percent_free / 10, 50), gpus};
    }
};

}  // namespace

std::unique_ptr<PlacementPolicy> packing_policy(const PolicyInputs&) {
    return std::make_unique<Packing>();
}

}  // namespace tessera
