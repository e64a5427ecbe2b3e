// Goal: a container whose arbiter is gone goes on, at the rate that it can have without knowledge
// of its neighbours, and at most at its last rate. Method: processes that always want more, under a
// grant that is five seconds old. The simulated driver's clock measures their shares.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "guard/test_support/workloads.hpp"

namespace tessera::guard {
namespace {

constexpr Millionths kPercent = kWhole / 100;

struct Gone {
    const char* what;
    Millionths cores;
    Millionths cores_limit;
    Millionths last_rate;
    double expected;  // percent
};

// A GPU with a container whose grant is no longer written.
class GoneArbiter {
  public:
    explicit GoneArbiter(const Gone& gone)
        : container_(node_, {{0, gpusim::kGiB, 0, gone.cores, gone.cores_limit}}) {
        GpuLimit& limit = container_.limits().gpus[0];
        limit.is_timed.store(1);
        write_grant(limit.grant,
                    {monotonic_ns() - 5'000'000'000, gone.last_rate, {{0, kWhole}, {0, kWhole}}});
        worker_ = start_worker(container_, free_running(gpusim::kMillisecond));
    }

    [[nodiscard]] std::int64_t used_ns(std::int64_t now) const {
        return guard::used_ns(node_, worker_->pid(), gpusim::Engine::compute, now);
    }

  private:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_;
    std::unique_ptr<gpusim::ChildProcess> worker_;
};

TEST(WithoutArbiter, EachGoesOnAtWhatItCanHave) {
    const Gone rows[] = {
        {"guaranteed a part", 20 * kPercent, kWhole, kWhole, 20},
        {"without a guarantee", 0, kWhole, kWhole, 10},
        {"without a guarantee, with a compute limit", 0, 5 * kPercent, kWhole, 5},
        {"without a guarantee, and had less", 0, kWhole, 3 * kPercent, 3},
    };
    std::vector<std::unique_ptr<GoneArbiter>> gone;
    for (const Gone& row : rows)
        gone.push_back(std::make_unique<GoneArbiter>(row));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const std::int64_t began = monotonic_ns();
    std::vector<std::int64_t> before;
    for (const auto& each : gone)
        before.push_back(each->used_ns(began));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const std::int64_t now = monotonic_ns();
    for (std::size_t i = 0; i < gone.size(); i++) {
        const auto used = static_cast<double>(gone[i]->used_ns(now) - before[i]);
        const double percent = 100 * used / static_cast<double>(now - began);
        EXPECT_LE(percent, rows[i].expected + 1) << rows[i].what;
        EXPECT_GE(percent, rows[i].expected / 2) << rows[i].what << ", on a busy machine";
    }
}

}  // namespace
}  // namespace tessera::guard
