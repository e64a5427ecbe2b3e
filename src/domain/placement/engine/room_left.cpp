#include "domain/placement/engine/room_left.hpp"

#include "base/check.hpp"

namespace tessera {
namespace {

GpuSet emptiest_gpus(const NodeLoad& load, const PlacementTask& task) {
    GpuSet chosen = 0;
    for (int taken = 0; taken < task.count; ++taken) {
        int best = -1;
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            if ((chosen & gpu_bit(gpu)) != 0) continue;
            const bool is_emptier = best < 0 || load.milli[static_cast<std::size_t>(gpu)] >
                                                    load.milli[static_cast<std::size_t>(best)];
            if (is_emptier) best = gpu;
        }
        TESSERA_CHECK(best >= 0, "only a node that can take the task is asked for GPUs");
        chosen = static_cast<GpuSet>(chosen | gpu_bit(best));
    }
    return chosen;
}

std::int32_t left_on(const NodeLoad& load, const PlacementTask& task, GpuSet gpus) {
    std::int32_t left = 0;
    for (int gpu = 0; gpu < load.gpus; ++gpu) {
        if ((gpus & gpu_bit(gpu)) != 0)
            left += load.milli[static_cast<std::size_t>(gpu)] - task.milli;
    }
    return left;
}

class ByRoomLeft final : public PlacementPolicy {
  public:
    explicit ByRoomLeft(bool packs) : packs_(packs) {}

    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<ByRoomLeft>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        const GpuSet gpus = packs_ ? tightest_gpus(load, task) : emptiest_gpus(load, task);
        const std::int32_t left =
            task.count == 0 ? load.cpu_milli - task.cpu_milli : left_on(load, task, gpus);
        return {packs_ ? -left : left, gpus};
    }

  private:
    const bool packs_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> binpack_placement_policy(const PolicyInputs&) {
    return std::make_unique<ByRoomLeft>(true);
}

std::unique_ptr<PlacementPolicy> spread_placement_policy(const PolicyInputs&) {
    return std::make_unique<ByRoomLeft>(false);
}

}  // namespace tessera
