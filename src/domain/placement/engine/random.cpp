#include "domain/placement/engine/random.hpp"

#include <array>

namespace tessera {
namespace {

// The remainder of `random` chooses a GPU, and the quotient is the random number for the next GPU.
GpuSet any_gpus(const NodeLoad& load, const PlacementTask& task, std::uint64_t random) {
    std::array<int, kMaxGpus> fitting{};
    std::size_t left = 0;
    for (int gpu = 0; gpu < load.gpus; ++gpu) {
        if (load.milli[static_cast<std::size_t>(gpu)] >= task.milli) fitting[left++] = gpu;
    }
    GpuSet chosen = 0;
    for (int taken = 0; taken < task.count && left > 0; ++taken) {
        const auto at = static_cast<std::size_t>(random % left);
        random /= left;
        chosen = static_cast<GpuSet>(chosen | gpu_bit(fitting[at]));
        fitting[at] = fitting[--left];
    }
    return chosen;
}

class Random final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<Random>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t random) override {
        return {0, any_gpus(load, task, random)};
    }
    [[nodiscard]] Tie tie() const override { return Tie::any; }
};

}  // namespace

std::unique_ptr<PlacementPolicy> random_policy(const PolicyInputs&) {
    return std::make_unique<Random>();
}

}  // namespace tessera
