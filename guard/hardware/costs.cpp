// What the guard adds to the cost of a working driver.
#include <chrono>

#include "gpusim/test_support/worker.hpp"
#include "guard/hardware/arbitrated.hpp"
#include "guard/hardware/figures.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::kMiB;
using gpusim::Wire;
using gpusim::Worker;
using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point start) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// The cost of launching a kernel that does nothing; the queue is never full.
std::uint64_t launch_ns(const Worker& worker, int rounds) {
    constexpr int kAtATime = 200;
    const auto launch = CALL(worker.cuda, cuLaunchKernel);
    CUfunction nothing = nullptr;
    EXPECT_EQ(CALL(worker.cuda, cuModuleGetFunction)(&nothing, worker.module, "nothing"),
              CUDA_SUCCESS);
    std::uint64_t best = UINT64_MAX;
    for (int round = 0; round < rounds; round++) {
        const auto start = Clock::now();
        for (int i = 0; i < kAtATime; i++)
            launch(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
        best = std::min(best, ns_since(start) / kAtATime);
        worker.wait();
    }
    return best;
}

// The cost of allocating and freeing 2 MiB.
std::uint64_t pair_ns(const Worker& worker, int rounds) {
    const auto alloc = CALL(worker.cuda, cuMemAlloc_v2);
    const auto free = CALL(worker.cuda, cuMemFree_v2);
    std::uint64_t best = UINT64_MAX;
    for (int round = 0; round < rounds; round++) {
        CUdeviceptr pointer = 0;
        const auto start = Clock::now();
        EXPECT_EQ(alloc(&pointer, 2 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(free(pointer), CUDA_SUCCESS);
        best = std::min(best, ns_since(start));
    }
    return best;
}

using Measure = std::uint64_t (*)(const Worker&, int);

double measured(const std::filesystem::path& library, Measure measure, int rounds) {
    ChildProcess child([&](Wire& wire) { wire.send(measure(Worker(library), rounds)); });
    const std::uint64_t ns = child.wire().receive();
    if (child.join() != 0 || ns == 0) throw std::runtime_error("nothing could be measured");
    return static_cast<double>(ns);
}

// The best of several processes on each side, measured alternately.
void compare(Figures& figures, const std::string& what, Measure measure, double goal_percent) {
    const ArbitratedGpu gpu({{100, 100}});
    const int turns = figures.is_quick() ? 1 : 5;
    const int rounds = figures.is_quick() ? 20 : 500;
    double without = 1e18;
    double with = 1e18;
    for (int turn = 0; turn < turns; turn++) {
        without = std::min(without, measured(driver_path(), measure, rounds));
        with = std::min(with, measured(gpu.container(0).facade(), measure, rounds));
    }
    figures.shown(what + ", without the guard", Figures::number(without, "ns"));
    figures.shown(what + ", with it", Figures::number(with, "ns"));
    figures.at_most(what + ", added", goal_percent, 100 * (with - without) / without, "%");
}

}  // namespace

void check_costs(Figures& figures) {
    compare(figures, "cuLaunchKernel", launch_ns, 5);
    compare(figures, "cuMemAlloc and cuMemFree", pair_ns, 5);
}

}  // namespace tessera::guard
