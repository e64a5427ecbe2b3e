// Goal: a work interval counts from its launch permit on, however long its thread stands still
// before the driver has the work. Method: a process is stopped after each instruction of a launch,
// for longer than the polling thread takes to look.
#include <gtest/gtest.h>

#include <thread>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/stepped.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMillisecond;
using gpusim::Worker;
using namespace std::chrono_literals;

using Launch = std::function<void(const Worker&, CUstream)>;

constexpr std::uint64_t kLong = 60'000 * kMillisecond;  // not over before the test is

class GuardTurns : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }
    [[nodiscard]] bool is_in_flight() const {
        return container_.region().accounts().times[0][0].in_flight[0].since_ns.load() != 0;
    }

    [[nodiscard]] std::int64_t charged_ns() const {
        return container_.region().accounts().times[0][0].in_flight[0].total_ns.load();
    }

    void expect_seen(const Launch& launch) const {
        SteppedProcess process([&] {
            const Worker worker(container_.facade());
            CUstream stream = worker.make_stream();
            worker.launch(kMillisecond);  // the polling thread has begun, and the next work
                                          // interval is not sampled
            CALL(worker.cuda, cuCtxSynchronize)();
            raise(SIGSTOP);
            launch(worker, stream);
            raise(SIGSTOP);
        });
        process.run_to_stop();
        constexpr int kMost = 200'000;
        for (int i = 0; i < kMost && !is_in_flight(); i++)
            ASSERT_TRUE(process.step());
        ASSERT_TRUE(is_in_flight());
        constexpr int kUntilTheDriver = 600;
        for (int i = 0; i < kUntilTheDriver; i++) {
            ASSERT_TRUE(process.step());
            std::this_thread::sleep_for(5ms);
            ASSERT_TRUE(is_in_flight()) << "instruction " << i << " after it began";
        }
    }
};

TEST_F(GuardTurns, OfALaunch) {
    expect_seen([](const Worker& worker, CUstream stream) { worker.launch(kLong, stream); });
}

TEST_F(GuardTurns, OfALaunchOnSeveralDevices) {
    expect_seen([](const Worker& worker, CUstream stream) {
        std::uint64_t ns = kLong;
        void* parameters[] = {&ns};
        CUDA_LAUNCH_PARAMS_v1 one = {};
        one.function = worker.spin;
        one.gridDimX = gpusim::kWholeGpuBlocks;
        one.gridDimY = one.gridDimZ = one.blockDimY = one.blockDimZ = 1;
        one.blockDimX = 1024;
        one.hStream = stream;
        one.kernelParams = parameters;
        CALL(worker.cuda, cuLaunchCooperativeKernelMultiDevice)(&one, 1, 0);
    });
}

// Goal: the work that a permit is for is outstanding from the permit on, even if other work of the
// process ends before the driver has it. Method: between the two, long work of another stream ends.
TEST_F(GuardTurns, AreOutstandingThoughOtherWorkEnds) {
    const auto expected_end_ns = [&] {
        return container_.region().accounts().expected_end_ns[0][0][0].load();
    };
    SteppedProcess process([&] {
        const Worker worker(container_.facade());
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        for (CUstream stream : {one, other}) {
            worker.launch(20 * kMillisecond, stream);
            CALL(worker.cuda, cuStreamSynchronize)(stream);
        }
        worker.launch(3000 * kMillisecond, one);
        raise(SIGSTOP);
        worker.launch(20 * kMillisecond, other);
    });
    process.run_to_stop();
    const std::int64_t of_the_first = expected_end_ns();
    constexpr int kMost = 200'000;
    int steps = 0;
    for (; steps < kMost && expected_end_ns() == of_the_first; steps++)
        ASSERT_TRUE(process.step());
    ASSERT_NE(expected_end_ns(), of_the_first);
    ASSERT_NE(expected_end_ns(), 0);
    std::this_thread::sleep_for(3100ms);
    constexpr int kUntilItHasBegun = 400;
    for (int i = 0; i < kUntilItHasBegun; i++) {
        ASSERT_TRUE(process.step());
        std::this_thread::sleep_for(3ms);
        ASSERT_NE(expected_end_ns(), 0) << "instruction " << i;
    }
}

// A thread may stand still while it uses the burst budget, between its load and its store. If the
// stream's work ends meanwhile, the thread puts back a budget that no longer exists. Work that is
// launched then must still count. It is launched after a wait, so that it needs a permit: a launch
// that uses the burst budget may go uncounted if the polling thread looks just then (streams.hpp).
TEST_F(GuardTurns, AreNotLeftOutByCreditOfWorkThatEnded) {
    constexpr int kUntilTheBurstBudget = 250;
    constexpr int kUntilTheBudgetIsLarge = 1024;
    constexpr std::uint64_t kInFlight = 10 * kMillisecond;  // while it is stepped
    constexpr std::uint64_t kNext = 5 * kMillisecond;
    SteppedProcess process([&] {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        for (;;) {
            for (int i = 0; i < kUntilTheBudgetIsLarge; i++)
                worker.launch(1000, stream);
            worker.launch(kInFlight, stream);
            raise(SIGSTOP);
            worker.launch(1000, stream);
            EXPECT_EQ(CALL(worker.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
            const std::int64_t before = charged_ns();
            worker.launch(kNext, stream);
            EXPECT_EQ(CALL(worker.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
            // How much counts depends on how soon the thread waited, so only nothing is a fault.
            if (charged_ns() == before) _exit(1);
        }
    });
    for (int steps = 0; steps < kUntilTheBurstBudget; steps++) {
        process.run_to_stop();
        process.step(steps);
        std::this_thread::sleep_for(16ms);
        ASSERT_TRUE(process.step()) << "after " << steps - 1 << " instructions";
    }
}

}  // namespace
}  // namespace tessera::guard
