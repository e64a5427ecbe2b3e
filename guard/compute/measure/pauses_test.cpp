// Goal: a program that is late with its launches is charged for what the GPU did, and not for the
// pauses. No program is charged for less than its work. Method: one process under the facade, whose
// kernels have known lengths. The charge in its accounts is divided by that work.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/region/clock.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/tries.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::Worker;

class GuardPauses : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }

    [[nodiscard]] std::int64_t total() const {
        return container_.region().accounts().times[0][0].in_flight[0].total_ns.load();
    }

    // Runs `round` that many times. Returns the charge divided by the work that it reports.
    double of_rounds(int rounds, const std::function<std::uint64_t()>& round) const {
        const std::int64_t before = total();
        std::uint64_t work = 0;
        for (int i = 0; i < rounds; i++)
            work += round();
        return static_cast<double>(total() - before) / static_cast<double>(work);
    }

    // Launches kernels of these lengths in rotation, at least `every_ns` apart. Returns the work in
    // ns.
    static std::uint64_t launch(const Worker& worker, const std::vector<std::uint64_t>& lengths,
                                int launches, std::uint64_t every_ns, CUstream stream = nullptr) {
        std::uint64_t work = 0;
        for (int i = 0; i < launches; i++) {
            const std::uint64_t ns = lengths[static_cast<std::size_t>(i) % lengths.size()];
            const std::int64_t next = monotonic_ns() + static_cast<std::int64_t>(every_ns);
            worker.launch(ns, stream);
            work += ns;
            while (monotonic_ns() < next) {
            }
        }
        return work;
    }

    // The same, with a wait behind the kernels.
    static std::uint64_t run(const Worker& worker, const std::vector<std::uint64_t>& lengths,
                             int launches, std::uint64_t every_ns) {
        const std::uint64_t work = launch(worker, lengths, launches, every_ns);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        return work;
    }
};

TEST_F(GuardPauses, BetweenLaunchesAreNotCharged) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        const auto launches = [&](int count) {
            return of_rounds(
                1, [&] { return run(worker, {50 * kMicrosecond}, count, 300 * kMicrosecond); });
        };
        launches(100);
        EXPECT_TRUE(once_within(0.9, 2, [&] { return launches(2000); }))
            << "6 if the pauses were charged";
    });
}

// One kernel in sixteen is twenty times as long, and few of these are measured.
TEST_F(GuardPauses, BetweenUnevenLaunchesAreNotCharged) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        std::vector<std::uint64_t> lengths(15, 20 * kMicrosecond);
        lengths.push_back(400 * kMicrosecond);
        EXPECT_TRUE(once_within(0.7, 2, [&] {
            return of_rounds(1, [&] { return run(worker, lengths, 8000, 200 * kMicrosecond); });
        })) << "4.6 if the pauses were charged";
    });
}

// The long kernels may be anywhere between two waits.
TEST_F(GuardPauses, AreToldWhereverTheLongLaunchesAre) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        std::vector<std::uint64_t> lengths(9, 10 * kMicrosecond);
        lengths.push_back(200 * kMicrosecond);
        EXPECT_TRUE(once_within(0.85, 1.4, [&] {
            return of_rounds(800, [&] {
                const std::uint64_t work = launch(worker, lengths, static_cast<int>(lengths.size()),
                                                  250 * kMicrosecond, stream);
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
                return work;
            });
        }));
    });
}

// Kernels that are launched without a delay have no pauses, however long each of them is.
TEST_F(GuardPauses, AreNoneInUnevenWorkThatIsAhead) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        EXPECT_TRUE(once_above(0.95, [&] {
            return of_rounds(1, [&] {
                return run(worker, {10 * kMicrosecond, 10 * kMicrosecond, 2 * kMillisecond}, 900,
                           0);
            });
        }));
    });
}

// Long work that counts in full because it is ahead must not be charged again to the short launches
// beside it.
TEST_F(GuardPauses, AreNotFilledByLongWorkThatWasAhead) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        const auto rounds = [&](int count) {
            return of_rounds(count, [&] {
                const std::uint64_t work =
                    launch(worker, {10 * kMicrosecond}, 100, 200 * kMicrosecond, stream) +
                    launch(worker, {300 * kMicrosecond}, 60, 0, stream);
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
                return work;
            });
        };
        rounds(10);
        EXPECT_TRUE(once_within(0.85, 1.25, [&] { return rounds(40); }));
    });
}

// Before, the program waited for each of many short kernels.
TEST_F(GuardPauses, AreNotTakenForLongerWorkThanBefore) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        EXPECT_TRUE(once_above(0.8, [&] {
            for (int i = 0; i < 200; i++)
                run(worker, {20 * kMicrosecond}, 1, 0);
            return of_rounds(
                100, [&] { return run(worker, {3 * kMillisecond, 20 * kMicrosecond}, 2, 0); });
        }));
    });
}

// There is certainly no pause after everything was launched, however rarely such a launch is
// measured.
TEST_F(GuardPauses, AreNoneBetweenTheLastLaunchAndTheEnd) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        std::vector<std::uint64_t> lengths(100, 10 * kMicrosecond);
        lengths.push_back(10 * kMillisecond);
        const auto intervals = [&](const std::vector<std::uint64_t>& of, int count) {
            return of_rounds(count,
                             [&] { return run(worker, of, static_cast<int>(of.size()), 0); });
        };
        EXPECT_TRUE(once_above(0.9, [&] { return intervals(lengths, 40); }));
        EXPECT_TRUE(once_above(0.9, [&] {
            intervals(std::vector<std::uint64_t>(20, 20 * kMicrosecond), 100);
            return intervals(std::vector<std::uint64_t>(20, 3 * kMillisecond), 10);
        })) << "longer ones than before";
    });
}

// This also holds if the polling thread looks after the wait has begun.
TEST_F(GuardPauses, AreNoneBetweenTheLastLaunchAndTheEndOfAStream) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        std::vector<std::uint64_t> lengths(20, 10 * kMicrosecond);
        lengths.push_back(3 * kMillisecond);
        EXPECT_TRUE(once_above(0.8, [&] {
            return of_rounds(100, [&] {
                const std::uint64_t work =
                    launch(worker, lengths, static_cast<int>(lengths.size()), 0, stream);
                EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
                return work;
            });
        }));
    });
}

// This holds however the program waits: for an event, or for another stream that waits for an
// event.
TEST_F(GuardPauses, AreNoneBetweenTheLastLaunchAndAnEvent) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUevent event = worker.make_event();
        std::vector<std::uint64_t> lengths(20, 10 * kMicrosecond);
        lengths.push_back(3 * kMillisecond);
        const auto launch_and_record = [&] {
            const std::uint64_t work = launch(worker, lengths, static_cast<int>(lengths.size()), 0);
            EXPECT_EQ(CALL(worker.cuda, cuEventRecord)(event, nullptr), CUDA_SUCCESS);
            return work;
        };
        EXPECT_TRUE(once_above(0.8, [&] {
            return of_rounds(100, [&] {
                const std::uint64_t work = launch_and_record();
                EXPECT_EQ(CALL(worker.cuda, cuEventSynchronize)(event), CUDA_SUCCESS);
                return work;
            });
        }));
        CUstream beside = worker.make_stream();
        EXPECT_TRUE(once_above(0.7, [&] {
            return of_rounds(100, [&] {
                const std::uint64_t work = launch_and_record();
                EXPECT_EQ(CALL(worker.cuda, cuStreamWaitEvent)(beside, event, 0), CUDA_SUCCESS);
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(beside), CUDA_SUCCESS);
                return work;
            });
        }));
    });
}

// Work behind a copy in a stream has pauses as well.
TEST_F(GuardPauses, BehindACopyAreNotCharged) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        std::vector<char> host(4096);
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        const auto rounds = [&](int count) {
            return of_rounds(count, [&] {
                EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(),
                                                                  stream),
                          CUDA_SUCCESS);
                const std::uint64_t work =
                    launch(worker, {10 * kMicrosecond}, 15, 100 * kMicrosecond, stream);
                EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
                return work;
            });
        };
        rounds(300);
        EXPECT_TRUE(once_within(0.9, 4, [&] { return rounds(1000); }))
            << "10 if the pauses were charged";
    });
}

// A copy that the program waits for is work, however many short kernels are around it.
TEST_F(GuardPauses, AreNotWhatACallWaitedFor) {
    gpusim::in_child([this] {
        const Worker worker(container_.facade());
        std::vector<char> host(std::size_t{16} << 20);
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        const auto total = [this] {
            const ProcessTime& time = container_.region().accounts().times[0][0];
            return time.in_flight[0].total_ns.load() + time.in_flight[1].total_ns.load();
        };
        constexpr int kRounds = 20;
        const std::int64_t before = total();
        for (int round = 0; round < kRounds; round++) {
            for (int i = 0; i < 50; i++)
                worker.launch(10 * kMicrosecond);
            EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoD_v2)(memory, host.data(), host.size()),
                      CUDA_SUCCESS);
        }
        constexpr std::size_t kBytesPerNs = 12;  // of the simulated GPU
        const auto copied = static_cast<std::int64_t>(kRounds * host.size() / kBytesPerNs);
        EXPECT_GT(total() - before, copied * 4 / 5);
    });
}

}  // namespace
}  // namespace tessera::guard
