// Containers that share GPU 0 of a simulated node, each with its region, and an arbiter as the
// agent runs one; for tests and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpusim/state/timeline.hpp"
#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/arbiter_thread.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {

struct ShareOfTime {
    unsigned cores = 0;  // percent
    unsigned cores_limit = 100;
};

// The time of an engine of GPU 0 that a process used.
inline std::int64_t used_ns(const gpusim::SimulatedNode& node, pid_t pid, gpusim::Engine engine,
                            std::int64_t now) {
    const gpusim::State& state = node.state();
    for (int slot = 0; slot < state.file->slots_end.load(); slot++) {
        if (gpusim::slot_owner(state, slot) != pid) continue;
        return gpusim::used_ps(state, {0, engine}, slot, now) / gpusim::kPsPerNs;
    }
    return 0;
}

class SharedGpu {
  public:
    // `slices` are those of the GPU, and the arbiter knows them. Without any, shares are exact and
    // several tenants can use all of the GPU.
    explicit SharedGpu(const std::vector<ShareOfTime>& shares, TimeSlices slices = kNoTimeSlices)
        : node_("gpus:\n  - {model: A, memory: 64GiB, event_clock_fast_ppm: 40, time_slice: " +
                std::to_string(slices.length_ns) +
                "ns, switch_time: " + std::to_string(slices.switch_ns) + "ns}\n") {
        constexpr Millionths kPercent = kWhole / 100;
        for (const ShareOfTime& share : shares) {
            auto& made = containers_.emplace_back(std::make_unique<GuardedContainer>(
                node_,
                std::vector<GuardedContainer::Share>{
                    {0, gpusim::kGiB, 0, share.cores * kPercent, share.cores_limit * kPercent}}));
            made->limits().gpus[0].is_timed.store(1);
        }
        std::vector<Sharer> sharers;
        sharers.reserve(containers_.size());
        for (const auto& container : containers_)
            sharers.push_back({sharers.size(), &container->limits(), container->region().fd(), 0});
        arbiter_ = std::make_unique<ArbiterThread>(sharers, slices);
    }
    SharedGpu(const SharedGpu&) = delete;
    SharedGpu& operator=(const SharedGpu&) = delete;

    gpusim::SimulatedNode& node() { return node_; }
    const GuardedContainer& container(std::size_t index) const { return *containers_[index]; }

    std::int64_t used_ns(pid_t pid, gpusim::Engine engine, std::int64_t now) const {
        return guard::used_ns(node_, pid, engine, now);
    }

    // CPU time that sharing out has cost so far.
    std::int64_t arbiter_cpu_ns() const { return arbiter_->cpu_ns(); }

  private:
    // Its event clock is about as inaccurate as real ones are.
    gpusim::SimulatedNode node_;
    std::vector<std::unique_ptr<GuardedContainer>> containers_;
    std::unique_ptr<ArbiterThread> arbiter_;
};

// A process that repeats `again` until it is killed.
inline std::unique_ptr<gpusim::ChildProcess> start_worker(
    const GuardedContainer& container, const std::function<void(gpusim::Worker&)>& again) {
    auto child = std::make_unique<gpusim::ChildProcess>([&container, again](gpusim::Wire& wire) {
        gpusim::Worker worker(container.facade());
        wire.send();
        for (;;)
            again(worker);
    });
    if (child->wire().receive() != 1) throw std::runtime_error("a worker did not begin");
    return child;
}

}  // namespace tessera::guard
