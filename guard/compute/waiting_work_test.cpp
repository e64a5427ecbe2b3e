// Goal: work that waits on the GPU, for other work or for the program, is not charged for the wait,
// and does not shorten other work. If it waits for what the program has yet to launch, the program
// can launch that. Method: one process under the facade, whose streams wait for host functions, and
// what it writes in its accounts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/process_time.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/shared_gpu.hpp"
#include "guard/test_support/tries.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMillisecond;
using gpusim::Worker;
using namespace std::chrono_literals;

// Stops a stream until open() is called.
class Gate {
  public:
    void close(const Worker& worker, CUstream stream) {
        const auto wait = [](void* gate) { static_cast<Gate*>(gate)->is_open_.wait(false); };
        EXPECT_EQ(CALL(worker.cuda, cuLaunchHostFunc)(stream, wait, this), CUDA_SUCCESS);
    }
    void open() {
        is_open_ = true;
        is_open_.notify_all();
    }

  private:
    std::atomic<bool> is_open_ = false;
};

class GuardWaitingWork : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }
    [[nodiscard]] const InFlight& kernels() const {
        return container_.region().accounts().times[0][0].in_flight[0];
    }
    [[nodiscard]] bool is_in_flight() const { return kernels().since_ns.load() != 0; }
    [[nodiscard]] std::int64_t ms_in_flight() const {
        return kernels().total_ns.load() / 1'000'000;
    }
    [[nodiscard]] bool ends_soon() const {
        for (int tried = 0; tried < 2000 && is_in_flight(); tried++)
            std::this_thread::sleep_for(5ms);
        return !is_in_flight();
    }
    // Before `body`, it runs a kernel that is long enough that the next ones are measured.
    template <typename Body>
    void in_worker(Body body) const {
        gpusim::in_child([&] {
            const Worker worker(container_.facade());
            EXPECT_EQ(worker.launch(5 * kMillisecond), CUDA_SUCCESS);
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            body(worker, ms_in_flight());
        });
    }
};

TEST_F(GuardWaitingWork, AStreamThatWaitsFirstIsNotChargedForThat) {
    in_worker([this](const Worker& worker, std::int64_t) {
        CUstream stream = worker.make_stream();
        EXPECT_TRUE(once_within(48, 150, [&] {
            const std::int64_t before = ms_in_flight();
            Gate gate;
            gate.close(worker, stream);
            EXPECT_EQ(worker.launch(50 * kMillisecond, stream), CUDA_SUCCESS);
            std::this_thread::sleep_for(300ms);
            const std::int64_t so_far =
                in_flight_ns(kernels(), monotonic_ns()) / 1'000'000 - before;
            gate.open();
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            return static_cast<double>(std::max(so_far, ms_in_flight() - before));
        }));
    });
}

TEST_F(GuardWaitingWork, AStreamThatWaitsFirstDoesNotShortenOthers) {
    in_worker([this](const Worker& worker, std::int64_t) {
        CUstream late = worker.make_stream();
        CUstream stream = worker.make_stream();
        EXPECT_TRUE(once_within(244, 400, [&] {
            const std::int64_t before = ms_in_flight();
            Gate gate;
            gate.close(worker, late);
            EXPECT_EQ(worker.launch(50 * kMillisecond, late), CUDA_SUCCESS);
            EXPECT_EQ(worker.launch(200 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            std::this_thread::sleep_for(300ms);
            gate.open();
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(late), CUDA_SUCCESS);
            EXPECT_FALSE(is_in_flight());
            return static_cast<double>(ms_in_flight() - before);
        }));
    });
}

// Two streams alternate, so that one of them always has work, with pauses in all of it.
TEST_F(GuardWaitingWork, PausesWithinAFlightAreNotCharged) {
    in_worker([this](const Worker& worker, std::int64_t) {
        constexpr int kRounds = 6;
        CUstream streams[2] = {worker.make_stream(), worker.make_stream()};
        EXPECT_TRUE(once_within(20 * kRounds - 4, 20 * kRounds + 150, [&] {
            const std::int64_t before = ms_in_flight();
            Gate gates[kRounds];
            for (int round = 0; round < kRounds; round++) {
                CUstream stream = streams[round % 2];
                gates[round].close(worker, stream);
                EXPECT_EQ(worker.launch(20 * kMillisecond, stream), CUDA_SUCCESS);
                std::this_thread::sleep_for(100ms);
                if (round == 0) continue;
                EXPECT_TRUE(is_in_flight());
                gates[round - 1].open();
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(streams[(round - 1) % 2]),
                          CUDA_SUCCESS);
            }
            gates[kRounds - 1].open();
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            EXPECT_FALSE(is_in_flight());
            return static_cast<double>(ms_in_flight() - before);
        }));
    });
}

TEST_F(GuardWaitingWork, AWaitIsNoneForWhatAnotherThreadGaveMeanwhile) {
    in_worker([this](const Worker& worker, std::int64_t) {
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
        std::thread another([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            std::this_thread::sleep_for(100ms);
            EXPECT_EQ(worker.launch(60'000 * kMillisecond, stream), CUDA_SUCCESS);
        });
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        another.join();
        EXPECT_TRUE(is_in_flight());
    });
}

// After a pause, in which the polling thread looks rarely.
TEST_F(GuardWaitingWork, WhatIsPolledForAfterAPauseIsChargedForWhatItTook) {
    in_worker([this](const Worker& worker, std::int64_t) {
        CUstream stream = worker.make_stream();
        EXPECT_TRUE(once_within(0.99, 5, [&] {
            constexpr int kRounds = 5;
            const std::int64_t before = kernels().total_ns.load();
            for (int round = 0; round < kRounds; round++) {
                std::this_thread::sleep_for(400ms);
                EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
                CUevent done = worker.mark(stream);
                while (CALL(worker.cuda, cuEventQuery)(done) == CUDA_ERROR_NOT_READY)
                    std::this_thread::sleep_for(1ms);
            }
            EXPECT_TRUE(ends_soon());
            return static_cast<double>(kernels().total_ns.load() - before) / kRounds / kMillisecond;
        }));
    });
}

// The overhead that was learned from waits does not apply to a program that queries repeatedly. It
// learns of the end at once, and is charged for all of the work.
TEST_F(GuardWaitingWork, ThatIsAskedForIsChargedForWhatItTook) {
    in_worker([this](const Worker& worker, std::int64_t) {
        CUstream stream = worker.make_stream();
        constexpr int kRounds = 200;
        for (const auto ask_for : {stream, CUstream{nullptr}}) {
            // A thread waits for these much later than the GPU is done.
            for (int round = 0; round < 20; round++) {
                EXPECT_EQ(worker.launch(100 * gpusim::kMicrosecond, ask_for), CUDA_SUCCESS);
                std::this_thread::sleep_for(800us);
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(ask_for), CUDA_SUCCESS);
            }
            EXPECT_TRUE(ends_soon());
            EXPECT_TRUE(once_above(0.95, [&] {
                const std::int64_t before = kernels().total_ns.load();
                for (int round = 0; round < kRounds; round++) {
                    EXPECT_EQ(worker.launch(100 * gpusim::kMicrosecond, ask_for), CUDA_SUCCESS);
                    while (CALL(worker.cuda, cuStreamQuery)(ask_for) == CUDA_ERROR_NOT_READY) {
                    }
                }
                EXPECT_TRUE(ends_soon());
                return static_cast<double>(kernels().total_ns.load() - before) / kRounds /
                       (100 * gpusim::kMicrosecond);
            }));
        }
    });
}

// Only the thread itself can query its default stream.
TEST_F(GuardWaitingWork, OfAThreadThatSleeps) {
    in_worker([this](const Worker& worker, std::int64_t before) {
        std::atomic<bool> may_end = false;
        std::thread sleeper([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            for (int i = 0; i < 3; i++)
                EXPECT_EQ(worker.launch(100 * kMillisecond, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
            may_end.wait(false);
        });
        while (!is_in_flight())
            std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(ends_soon());
        EXPECT_GE(ms_in_flight() - before, 290);
        EXPECT_LE(ms_in_flight() - before, 3000);
        may_end = true;
        may_end.notify_all();
        sleeper.join();
    });
}

// Far more work than may be ahead of the GPU.
TEST(GuardWaitingWorkInTurn, ForWhatComesBehindIt) {
    const SharedGpu gpu({{50, 100}});
    gpusim::in_child([&] {
        const Worker worker(gpu.container(0).facade());
        CUstream stream = worker.make_stream();
        Gate gate;
        gate.close(worker, stream);
        for (int i = 0; i < 20; i++)
            EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
        gate.open();
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
    });
}

// The work began when the thread already waited for its permit: two that wait for each other, of
// which one came first.
TEST_F(GuardWaitingWork, ThatBeganAfterTheThreadWaitedForItsTurn) {
    constexpr std::uint64_t kSpinning = 100'000 * kMillisecond;
    constexpr std::int64_t kPlenty = 1'000'000'000'000;
    write_grant(container_.limits().gpus[0].grant,
                {monotonic_ns(), kWhole, {{kPlenty, kWhole}, {-kPlenty, kWhole}}});
    in_worker([this](const Worker& worker, std::int64_t) {
        std::vector<char> host(1 << 20);
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        std::thread copier([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(),
                                                              worker.make_stream()),
                      CUDA_SUCCESS);
        });
        while (container_.region().accounts().times[0][0].waiting.load() == 0)
            std::this_thread::sleep_for(1ms);
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(kSpinning, stream), CUDA_SUCCESS);
        copier.join();
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
    });
}

// What a stream copies before its kernel is charged to that stream, as one kind of work or the
// other.
TEST_F(GuardWaitingWork, ForACopyOfItsOwnStreamIsCharged) {
    in_worker([this](const Worker& worker, std::int64_t) {
        const auto charged_ns = [this] {
            const ProcessTime& time = container_.region().accounts().times[0][0];
            return time.in_flight[0].total_ns.load() + time.in_flight[1].total_ns.load();
        };
        std::vector<char> host(std::size_t{64} << 20);
        CUdeviceptr memory = 0;
        CUstream stream = worker.make_stream();
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        for (int round = 0; round < 3; round++) {
            const std::int64_t before = charged_ns();
            CUevent start = worker.mark(stream);
            EXPECT_EQ(
                CALL(worker.cuda, cuMemcpyDtoHAsync_v2)(host.data(), memory, host.size(), stream),
                CUDA_SUCCESS);
            CUevent end = worker.mark(stream);
            EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            const auto copied = static_cast<std::int64_t>(worker.ns_between(start, end));
            EXPECT_GE(charged_ns() - before, copied / 2) << round;
        }
    });
}

// The balance is used up. The launch is in the same stream, or in another one.
TEST(GuardWaitingWorkInDebt, ForWhatTheProgramHasYetToLaunch) {
    const SharedGpu gpu({{50, 50}});
    gpusim::in_child([&] {
        const Worker worker(gpu.container(0).facade());
        CUstream stream = worker.make_stream();
        CUstream other = worker.make_stream();
        for (CUstream next : {other, stream}) {
            Gate gate;
            EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
            gate.close(worker, stream);
            std::this_thread::sleep_for(200ms);
            EXPECT_EQ(worker.launch(kMillisecond, next), CUDA_SUCCESS);
            gate.open();
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        }
    });
}

}  // namespace
}  // namespace tessera::guard
