// Containers that share device 0 of this machine, and an arbiter as the agent runs one. Like
// guard/test_support/shared_gpu.hpp, but without a simulated clock.
#pragma once

#include <memory>
#include <vector>

#include "guard/arbiter/time_slices.hpp"
#include "guard/hardware/container.hpp"
#include "guard/test_support/arbiter_thread.hpp"

namespace tessera::guard {

struct Percents {
    unsigned cores = 0;
    unsigned cores_limit = 100;
};

class ArbitratedGpu {
  public:
    explicit ArbitratedGpu(const std::vector<Percents>& shares,
                           std::uint64_t memory_bytes = std::uint64_t{1} << 40) {
        constexpr Millionths kPercent = kWhole / 100;
        for (const Percents& share : shares) {
            containers_.push_back(std::make_unique<HardwareContainer>(
                ContainerShare{.memory_bytes = memory_bytes,
                               .cores = share.cores * kPercent,
                               .cores_limit = share.cores_limit * kPercent,
                               .is_timed = true}));
        }
        std::vector<Sharer> sharers;
        for (const auto& container : containers_)
            sharers.push_back({sharers.size(), &container->limits(), container->region().fd(), 0});
        arbiter_ = std::make_unique<ArbiterThread>(sharers, TimeSlices{});
    }
    ArbitratedGpu(const ArbitratedGpu&) = delete;
    ArbitratedGpu& operator=(const ArbitratedGpu&) = delete;

    [[nodiscard]] const HardwareContainer& container(std::size_t index) const {
        return *containers_[index];
    }
    // What the arbiter charged the container for kernels so far.
    [[nodiscard]] std::int64_t charged_ns(std::size_t index) const {
        return arbiter_->charged_ns(index);
    }

  private:
    std::vector<std::unique_ptr<HardwareContainer>> containers_;
    std::unique_ptr<ArbiterThread> arbiter_;
};

}  // namespace tessera::guard
