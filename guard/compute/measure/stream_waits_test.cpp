// Goal: what a stream waits for between its kernels (a copy of another stream, a host function) is
// not charged, and its kernels are. This holds for each way to make it wait, and however often it
// waits. Method: one process under the facade, and what it writes in its accounts.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/tries.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::Worker;

constexpr std::uint64_t kHostNs = kMillisecond;

void sleep_on_host() {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kHostNs));
}

// Makes the stream wait for a host function.
using Waits = std::function<CUresult(const Worker&, CUstream)>;

const Waits kHostFunction = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuLaunchHostFunc)(stream, [](void*) { sleep_on_host(); }, nullptr);
};
const Waits kHostFunctionPerThread = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuLaunchHostFunc_ptsz)(
        stream, [](void*) { sleep_on_host(); }, nullptr);
};
const Waits kHostFunctionOfCuda13 = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuLaunchHostFunc_v2)(
        stream, [](void*) { sleep_on_host(); }, nullptr, 0);
};
const Waits kHostFunctionOfCuda13PerThread = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuLaunchHostFunc_v2_ptsz)(
        stream, [](void*) { sleep_on_host(); }, nullptr, 0);
};
const Waits kCallback = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuStreamAddCallback)(
        stream, [](CUstream, CUresult, void*) { sleep_on_host(); }, nullptr, 0);
};
const Waits kCallbackPerThread = [](const Worker& worker, CUstream stream) {
    return CALL(worker.cuda, cuStreamAddCallback_ptsz)(
        stream, [](CUstream, CUresult, void*) { sleep_on_host(); }, nullptr, 0);
};

Waits for_event(CUevent event) {
    return [event](const Worker& worker, CUstream stream) {
        return CALL(worker.cuda, cuStreamWaitEvent)(stream, event, 0);
    };
}

class GuardStreamWaits : public testing::Test {
  protected:
    explicit GuardStreamWaits(const std::string& more = "")
        : node_("gpus:\n  - {model: A, memory: 8GiB" + more + "}\n"),
          container_(node_, {{0, kGiB, 0, kWhole / 2, kWhole}}) {}

    gpusim::SimulatedNode node_;
    GuardedContainer container_;

    void SetUp() override { container_.grant_plenty(); }

    // The charge for kernels divided by work_ns, the length of the kernels that `rounds` launches.
    template <typename Rounds>
    [[nodiscard]] double charged_of(std::uint64_t work_ns, const Rounds& rounds) const {
        const auto& kernels = container_.region().accounts().times[0][0].in_flight[0];
        const std::int64_t before = kernels.total_ns.load();
        rounds();
        return static_cast<double>(kernels.total_ns.load() - before) / static_cast<double>(work_ns);
    }

    // Launches a kernel of `ns` and then a wait, repeatedly, with at most `ahead` of them queued.
    [[nodiscard]] double charged_between(const Worker& worker, const Waits& waits, int rounds,
                                         int ahead, std::uint64_t ns) const {
        CUstream stream = worker.make_stream();
        return charged_of(static_cast<std::uint64_t>(rounds) * ns, [&] {
            for (int round = 1; round <= rounds; round++) {
                EXPECT_EQ(worker.launch(ns, stream), CUDA_SUCCESS);
                EXPECT_EQ(waits(worker, stream), CUDA_SUCCESS);
                if (round % ahead != 0) continue;
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            }
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        });
    }
};

TEST_F(GuardStreamWaits, ForTheHostAreNotCharged) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        for (const Waits& waits : {kHostFunction, kHostFunctionPerThread, kHostFunctionOfCuda13,
                                   kHostFunctionOfCuda13PerThread, kCallback, kCallbackPerThread}) {
            EXPECT_TRUE(once_within(0.9, 1.5, [&] {
                return charged_between(worker, waits, 200, 4, 500 * kMicrosecond);
            })) << "3 if the waits were charged";
        }
    });
}

// More waits than there are pacing events for.
TEST_F(GuardStreamWaits, AreNotChargedHoweverManyThereAreAhead) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        EXPECT_TRUE(once_within(0.9, 2, [&] {
            return charged_between(worker, kHostFunction, 300, 50, 500 * kMicrosecond);
        })) << "3 if the waits were charged";
    });
}

TEST_F(GuardStreamWaits, ForCopiesOfAnotherStreamAreNotCharged) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUstream feeding = worker.make_stream();
        CUstream working = worker.make_stream();
        std::vector<char> host(std::size_t{16} << 20);
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        CUevent fed[2] = {worker.make_event(), worker.make_event()};
        CUevent worked[2] = {worker.make_event(), worker.make_event()};
        constexpr std::uint64_t kRounds = 300;
        const auto rounds = [&] {
            for (std::uint64_t round = 0; round < kRounds; round++) {
                if (round >= 2) CALL(worker.cuda, cuEventSynchronize)(worked[round % 2]);
                CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), feeding);
                CALL(worker.cuda, cuEventRecord)(fed[round % 2], feeding);
                CALL(worker.cuda, cuStreamWaitEvent)(working, fed[round % 2], 0);
                EXPECT_EQ(worker.launch(300 * kMicrosecond, working), CUDA_SUCCESS);
                CALL(worker.cuda, cuEventRecord)(worked[round % 2], working);
            }
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(working), CUDA_SUCCESS);
        };
        EXPECT_TRUE(once_within(0.9, 1.5, [&] {
            return charged_of(kRounds * 300 * kMicrosecond, rounds);
        })) << "4 if the waits were charged";
    });
}

// Waits for an event that was reached long ago.
TEST_F(GuardStreamWaits, ForNothingLeaveNoWorkOut) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUevent done = worker.mark();
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        const Waits for_nothing = for_event(done);
        struct Launches {
            int count;
            int ahead;
            std::uint64_t us;
        };
        for (const auto& [count, ahead, us] :
             {Launches{2000, 1000, 500}, {2000, 1, 100}, {20'000, 64, 20}}) {
            EXPECT_TRUE(once_above(0.95, [&] {
                return charged_between(worker, for_nothing, count, ahead, us * kMicrosecond);
            }));
        }
    });
}

TEST_F(GuardStreamWaits, OfAnotherThreadLeaveNoWorkOut) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUevent done = worker.mark();
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        constexpr std::uint64_t kLaunches = 300;
        const auto launches = [&] {
            std::atomic<bool> is_over = false;
            std::thread waiting([&] {
                CALL(worker.cuda, cuCtxSetCurrent)(worker.context);
                while (!is_over)
                    CALL(worker.cuda, cuStreamWaitEvent)(stream, done, 0);
            });
            for (std::uint64_t i = 0; i < kLaunches; i++) {
                worker.launch(2 * kMillisecond, stream);
                if (i % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
            }
            is_over = true;
            waiting.join();
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        };
        EXPECT_TRUE(
            once_above(0.9, [&] { return charged_of(kLaunches * 2 * kMillisecond, launches); }));
    });
}

// A GPU's clock and the host's clock run at different rates.
class GuardStreamWaitsByAFastClock : public GuardStreamWaits {
  protected:
    GuardStreamWaitsByAFastClock() : GuardStreamWaits(", event_clock_fast_ppm: 500") {}
};

TEST_F(GuardStreamWaitsByAFastClock, LeaveNoWorkOut) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUevent done = worker.mark();
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        const Waits for_nothing = for_event(done);
        for (int round = 0; round < 2; round++) {
            for (const auto& [ns, ahead] : {std::pair{20, 64}, {100, 4}, {100, 6}, {500, 64}}) {
                const auto each_ns = static_cast<std::uint64_t>(ns) * kMicrosecond;
                const int launches = 500'000 / ns;
                EXPECT_TRUE(once_above(0.95,
                                       [&, most = ahead] {
                                           return charged_between(worker, for_nothing, launches,
                                                                  most, each_ns);
                                       }))
                    << ns << " us, " << ahead << " ahead";
            }
        }
    });
}

}  // namespace
}  // namespace tessera::guard
