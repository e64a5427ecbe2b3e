// Goal: a copy whose call waits is charged for what the copy engine did. What it waits for is
// charged to the work that it is part of. No copy is charged for less than its work. Method: one
// process under the facade, whose kernels and copies have known lengths, and what it writes in its
// accounts.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/starvation.hpp"
#include "guard/test_support/tries.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::Worker;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMostBytes = 4096 * kKiB;

// The simulated GPU copies 12 bytes per nanosecond.
double copy_ns(std::size_t bytes) {
    return static_cast<double>(bytes) / 12;
}

struct Charged {
    double kernels_ns;
    double copies_ns;
    // How long threads had no core meanwhile: that much of the above may be their delay.
    double starved_ns;
};

class GuardWaitedCopy : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }

    [[nodiscard]] const InFlight& in_flight(WorkKind kind) const {
        const ProcessTime& time = container_.region().accounts().times[0][0];
        return time.in_flight[static_cast<int>(kind)];
    }
    [[nodiscard]] double total(WorkKind kind) const {
        return static_cast<double>(in_flight(kind).total_ns.load());
    }
    [[nodiscard]] Charged charged_for(const std::function<void()>& work) const {
        const double kernels = total(WorkKind::kernels);
        const double copies = total(WorkKind::copies);
        const std::int64_t starved = starved_ns(getpid());
        work();
        return {total(WorkKind::kernels) - kernels, total(WorkKind::copies) - copies,
                static_cast<double>(starved_ns(getpid()) - starved)};
    }
    // `body` gets the worker and a function that copies that many bytes to the host and returns the
    // result.
    using Copy = std::function<CUresult(std::size_t)>;
    void in_worker(const std::function<void(const Worker&, const Copy&)>& body) const {
        gpusim::in_child([&] {
            const Worker worker(container_.facade());
            std::vector<char> host(kMostBytes);
            CUdeviceptr memory = 0;
            EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, kMostBytes), CUDA_SUCCESS);
            body(worker, [&](std::size_t bytes) {
                return CALL(worker.cuda, cuMemcpyDtoH_v2)(host.data(), memory, bytes);
            });
        });
    }
};

void repeat(int times, const std::function<void()>& work) {
    for (int i = 0; i < times; i++)
        work();
}

// The usual way for a program to fetch a result that it has computed.
TEST_F(GuardWaitedCopy, IsNotChargedToTheKernelBeforeIt) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        const auto rounds = [&] {
            repeat(200, [&] {
                worker.launch(50 * kMicrosecond);
                EXPECT_EQ(copy(4 * kKiB), CUDA_SUCCESS);
            });
        };
        rounds();
        const double work = 200.0 * 50 * kMicrosecond;
        EXPECT_TRUE(holds_once([&] {
            const Charged charged = charged_for(rounds);
            return charged.kernels_ns > 0.8 * work &&
                   charged.kernels_ns - charged.starved_ns < 1.3 * work &&
                   charged.copies_ns - charged.starved_ns < 0.5 * work;
        }));
    });
}

TEST_F(GuardWaitedCopy, IsCharged) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        const auto rounds = [&] {
            repeat(30, [&] {
                worker.launch(200 * kMicrosecond);
                EXPECT_EQ(copy(kMostBytes), CUDA_SUCCESS);
            });
        };
        rounds();
        const double kernels = 30.0 * 200 * kMicrosecond;
        const double copies = 30 * copy_ns(kMostBytes);
        EXPECT_TRUE(holds_once([&] {
            const Charged charged = charged_for(rounds);
            return charged.kernels_ns > 0.95 * kernels &&
                   charged.kernels_ns - charged.starved_ns < 1.2 * kernels &&
                   charged.copies_ns > 0.95 * copies &&
                   charged.copies_ns - charged.starved_ns < 1.2 * copies;
        }));
    });
}

// Neither for work of its stream nor for that of other streams.
TEST_F(GuardWaitedCopy, IsNotChargedForWhatItWaitsFor) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuStreamCreate)(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
        const auto rounds = [&] {
            repeat(50, [&] {
                worker.launch(kMillisecond, stream);
                EXPECT_EQ(copy(256 * kKiB), CUDA_SUCCESS);
            });
        };
        rounds();
        const double work = 50 * copy_ns(256 * kKiB);
        EXPECT_TRUE(holds_once([&] {
            const Charged charged = charged_for(rounds);
            return charged.kernels_ns > 0.9 * 50 * kMillisecond &&
                   charged.copies_ns - charged.starved_ns < 5 * work;
        })) << "a factor of 47 if the kernels were charged";
    });
}

// The call returns when the copy is done, whatever another thread gives the stream behind it.
TEST_F(GuardWaitedCopy, WaitsForNothingBehindIt) {
    in_worker([](const Worker& worker, const Copy& copy) {
        worker.launch(50 * kMillisecond);
        std::jthread behind([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            worker.launch(3000 * kMillisecond);
        });
        EXPECT_EQ(copy(kMostBytes), CUDA_SUCCESS);
        behind.join();
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(nullptr), CUDA_ERROR_NOT_READY);
    });
}

// Short copies among long ones are measured as rarely as the long ones.
TEST_F(GuardWaitedCopy, IsNotChargedForLessInARhythm) {
    in_worker([this](const Worker&, const Copy& copy) {
        const Charged charged = charged_for([&] {
            repeat(500, [&] {
                repeat(3, [&] { EXPECT_EQ(copy(4 * kKiB), CUDA_SUCCESS); });
                EXPECT_EQ(copy(1000 * kKiB), CUDA_SUCCESS);
            });
        });
        EXPECT_GT(charged.copies_ns, 0.6 * 500 * copy_ns(1000 * kKiB));
        EXPECT_EQ(charged.kernels_ns, 0);
    });
}

TEST_F(GuardWaitedCopy, IsNotChargedForLessInSeveralThreads) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        constexpr int kThreads = 4;
        const Charged charged = charged_for([&] {
            std::vector<std::jthread> threads;
            threads.reserve(kThreads);
            for (int i = 0; i < kThreads; i++) {
                threads.emplace_back([&] {
                    EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
                    repeat(300, [&] { EXPECT_EQ(copy(512 * kKiB), CUDA_SUCCESS); });
                });
            }
        });
        EXPECT_GT(charged.copies_ns, 0.6 * kThreads * 300 * copy_ns(512 * kKiB));
    });
}

TEST_F(GuardWaitedCopy, ThatFailsIsNoWork) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        const Charged charged = charged_for([&] {
            for (const std::size_t bytes : {2 * kMostBytes, std::size_t{1}}) {
                repeat(20, [&] {
                    CUdeviceptr nowhere = 0;
                    EXPECT_EQ(CALL(worker.cuda, cuMemcpyDtoH_v2)(&nowhere, 1, bytes),
                              CUDA_ERROR_INVALID_VALUE);
                });
            }
        });
        EXPECT_EQ(charged.copies_ns, 0);
        EXPECT_EQ(in_flight(WorkKind::copies).since_ns.load(), 0);
        EXPECT_EQ(copy(kMostBytes), CUDA_SUCCESS);
        EXPECT_EQ(in_flight(WorkKind::copies).since_ns.load(), 0);
        EXPECT_GT(total(WorkKind::copies), 0);
    });
}

// The copies of many threads, one after the other, leave nothing in flight.
TEST_F(GuardWaitedCopy, OfAThreadThatEndsLeavesNothing) {
    in_worker([this](const Worker& worker, const Copy& copy) {
        for (int i = 0; i < 100; i++) {
            std::jthread([&] {
                EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
                EXPECT_EQ(copy(64 * kKiB), CUDA_SUCCESS);
            }).join();
        }
        EXPECT_EQ(in_flight(WorkKind::copies).since_ns.load(), 0);
        EXPECT_GT(total(WorkKind::copies), 0.6 * 100 * copy_ns(64 * kKiB));
    });
}

}  // namespace
}  // namespace tessera::guard
