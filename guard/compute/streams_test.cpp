// Goal: the guard knows when a process has work in flight, whichever way the program works and
// waits. It does not disturb captures. Compute limits change live, apply without an arbiter, and
// cost nothing if there are none. Method: one process under the facade, and what it writes in the
// accounts.
#include "guard/compute/streams.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/worker.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/grant.hpp"
#include "guard/test_support/guarded_container.hpp"
#include "guard/test_support/shared_gpu.hpp"

namespace tessera::guard {
namespace {

using gpusim::in_child;
using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::SimulatedNode;
using gpusim::Worker;
using namespace std::chrono_literals;

constexpr Millionths kPercent = kWhole / 100;

class GuardStreams : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, 50 * kPercent, kWhole}}};

    void SetUp() override { grant(kWhole); }

    [[nodiscard]] GpuLimit& limit() const { return container_.limits().gpus[0]; }
    [[nodiscard]] const ProcessTime& time() const {
        return container_.region().accounts().times[0][0];
    }
    [[nodiscard]] bool is_in_flight(WorkKind kind = WorkKind::kernels) const {
        return time().in_flight[static_cast<int>(kind)].since_ns.load() != 0;
    }
    [[nodiscard]] std::int64_t in_flight_total() const {
        return time().in_flight[0].total_ns.load();
    }
    // Writes one grant, as the arbiter would.
    void grant(Millionths rate, std::int64_t balance_ns = 1'000'000'000'000) const {
        write_grant(limit().grant,
                    {monotonic_ns(), rate, {{balance_ns, kWhole}, {balance_ns, kWhole}}});
    }
    template <typename Body>
    void in_worker(Body body) const {
        in_child([&] {
            const Worker worker(container_.facade());
            body(worker);
        });
    }
    static bool soon(const std::function<bool()>& holds) {
        for (int tried = 0; tried < 2000; tried++) {
            if (holds()) return true;
            std::this_thread::sleep_for(5ms);
        }
        return false;
    }
};

TEST_F(GuardStreams, WorkIsInFlightUntilItIsWaitedFor) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUstream stream = worker.make_stream();
        EXPECT_FALSE(is_in_flight());
        const std::function<void()> waits[] = {
            [&] { CALL(cuda, cuStreamSynchronize)(stream); },
            [&] { CALL(cuda, cuStreamSynchronize_ptsz)(stream); },
            [&] { worker.wait(); },
            [&] { CALL(cuda, cuEventSynchronize)(worker.mark(stream)); },
            [&] {
                while (CALL(cuda, cuStreamQuery)(stream) != CUDA_SUCCESS)
                    std::this_thread::sleep_for(1ms);
            },
            [&] {
                while (CALL(cuda, cuStreamQuery_ptsz)(stream) != CUDA_SUCCESS)
                    std::this_thread::sleep_for(1ms);
            },
        };
        for (const auto& wait : waits) {
            const std::int64_t before = in_flight_total();
            EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_TRUE(is_in_flight());
            wait();
            EXPECT_FALSE(is_in_flight());
            EXPECT_GE(in_flight_total() - before, 290'000'000);
        }
    });
}

TEST_F(GuardStreams, WhatNobodyWaitsForIsFoundToHaveEnded) {
    in_worker([this](const Worker& worker) {
        EXPECT_EQ(worker.launch(kMillisecond, worker.make_stream()), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        EXPECT_TRUE(soon([this] { return !is_in_flight(); }));
    });
}

class GuardBurstBudget : public GuardStreams {
  protected:
    int launched_with(std::int64_t balance_ns) const;
};

// Launches long kernels in a stream that had tiny ones, until a launch waits. Returns how many it
// launched.
int GuardBurstBudget::launched_with(std::int64_t balance_ns) const {
    void* page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap");
    auto& launched = *static_cast<std::atomic<int>*>(page);
    gpusim::ChildProcess child([&](gpusim::Wire& wire) {
        const Worker worker(container_.facade());
        CUstream stream = worker.make_stream();
        for (int i = 0; i < 20'000; i++)
            worker.launch(kMicrosecond, stream);
        CALL(worker.cuda, cuStreamSynchronize)(stream);
        wire.send();
        wire.receive();
        for (;;) {
            worker.launch(50 * kMillisecond, stream);
            launched++;
        }
    });
    EXPECT_EQ(child.wire().receive(), 1U);
    grant(0, balance_ns);
    child.wire().send();
    EXPECT_TRUE(soon([&] { return launched > 0; }));
    for (int before = -1; before != launched; std::this_thread::sleep_for(300ms))
        before = launched;
    child.kill_hard();
    const int in_all = launched;
    munmap(page, sizeof(std::atomic<int>));
    return in_all;
}

// Goal: a program that had tiny kernels cannot launch any number of long ones on the burst budget
// of these. With its last permit and some balance left, it can launch no more than
// docs/internals/guard.md says.
TEST_F(GuardBurstBudget, OfTheLastTurnIsABatch) {
    EXPECT_LE(launched_with(1), 320);
}

TEST_F(GuardBurstBudget, WithTimeLeftIsABatchForEachMark) {
    EXPECT_LE(launched_with(10'000'000), 768 + 320);
}

TEST_F(GuardStreams, CopiesAreOfAnotherKind) {
    in_worker([this](const Worker& worker) {
        CUdeviceptr memory = 0;
        std::vector<char> host(std::size_t{1} << 20);
        CUstream stream = worker.make_stream();
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), stream),
                  CUDA_SUCCESS);
        EXPECT_TRUE(is_in_flight(WorkKind::copies));
        EXPECT_FALSE(is_in_flight(WorkKind::kernels));
        EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_TRUE(is_in_flight(WorkKind::kernels)) << "from the first kernel on";
        EXPECT_FALSE(is_in_flight(WorkKind::copies));
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

// Goal: a stream that begins to copy does not make another stream's kernel shorter. That kernel is
// measured from when the first stream began to work.
TEST_F(GuardStreams, CopiesDoNotShortenKernels) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUdeviceptr memory = 0;
        std::vector<char> host(std::size_t{64} << 20);
        CUstream copies = worker.make_stream();
        CUstream kernels = worker.make_stream();
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        const auto copy = [&] {
            return CALL(cuda, cuMemcpyDtoHAsync_v2)(host.data(), memory, host.size(), copies);
        };
        // These are long, so that the next ones are measured.
        EXPECT_EQ(copy(), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(5 * kMillisecond, kernels), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        const std::int64_t before = in_flight_total();
        EXPECT_EQ(worker.launch(kMillisecond, copies), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(100 * kMillisecond, kernels), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(copies), CUDA_SUCCESS);
        std::this_thread::sleep_for(60ms);
        EXPECT_EQ(copy(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(kernels), CUDA_SUCCESS);
        EXPECT_GE(in_flight_total() - before, 95'000'000);
    });
}

TEST_F(GuardStreams, EachContextHasADefaultStreamOfItsOwn) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        const Worker other(container_.facade());
        EXPECT_EQ(other.launch(300 * kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize_v2)(worker.context), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuEventSynchronize)(worker.mark(nullptr)), CUDA_SUCCESS);
        EXPECT_TRUE(is_in_flight()) << "that of the other context";
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(other.context), CUDA_SUCCESS);
        EXPECT_FALSE(is_in_flight()) << "it ended with its context";
    });
}

// CUDA 13 can wait for a context that is not current.
TEST_F(GuardStreams, AnotherContextIsWaitedFor) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        EXPECT_EQ(worker.launch(30 * kMillisecond), CUDA_SUCCESS);
        const Worker other(container_.facade());
        EXPECT_TRUE(is_in_flight());
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize_v2)(worker.context), CUDA_SUCCESS);
        EXPECT_FALSE(is_in_flight());
        CUcontext current = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxGetCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, other.context);
        EXPECT_EQ(other.launch(kMicrosecond), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSynchronize_v2)(nullptr), CUDA_ERROR_INVALID_CONTEXT);
    });
}

// The watch queries streams while another thread draws them into captures.
TEST_F(GuardStreams, CapturesAreNotDisturbed) {
    in_worker([](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        CUevent fork = worker.make_event();
        CUevent join = worker.make_event();
        constexpr auto kMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        const auto begin_in = [&](auto begin) {
            CUgraph into = nullptr;
            EXPECT_EQ(CALL(cuda, cuGraphCreate)(&into, 0), CUDA_SUCCESS);
            return begin(one, into, nullptr, nullptr, 0, kMode);
        };
        const auto begin_again_in = [&](auto begin) {
            CUgraph into = nullptr;
            EXPECT_EQ(CALL(cuda, cuGraphCreate)(&into, 0), CUDA_SUCCESS);
            return begin(one, kMode, into, nullptr, nullptr);
        };
        const std::function<CUresult()> begins[] = {
            [&] { return CALL(cuda, cuStreamBeginCapture_v2)(one, kMode); },
            [&] { return CALL(cuda, cuStreamBeginCapture_v2_ptsz)(one, kMode); },
            [&] { return CALL(cuda, cuStreamBeginCapture)(one); },
            [&] { return CALL(cuda, cuStreamBeginCapture_ptsz)(one); },
            [&] { return begin_in(CALL(cuda, cuStreamBeginCaptureToGraph)); },
            [&] { return begin_in(CALL(cuda, cuStreamBeginCaptureToGraph_ptsz)); },
            [&] { return begin_again_in(CALL(cuda, cuStreamBeginRecaptureToGraph)); },
            [&] { return begin_again_in(CALL(cuda, cuStreamBeginRecaptureToGraph_ptsz)); },
        };
        for (int round = 0; round < 900; round++) {
            worker.launch(100 * kMicrosecond, one);
            worker.launch(100 * kMicrosecond, other);
            CUgraph graph = nullptr;
            ASSERT_EQ(begins[static_cast<std::size_t>(round) % std::size(begins)](), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuEventRecord)(fork, one), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuStreamWaitEvent)(other, fork, 0), CUDA_SUCCESS);
            for (int i = 0; i < 20; i++)
                EXPECT_EQ(worker.launch(kMicrosecond, i % 2 == 0 ? one : other), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuEventRecord)(join, other), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuStreamWaitEvent_ptsz)(one, join, 0), CUDA_SUCCESS);
            ASSERT_EQ(CALL(cuda, cuStreamEndCapture)(one, &graph), CUDA_SUCCESS) << round;
            std::size_t nodes = 0;
            EXPECT_EQ(CALL(cuda, cuGraphGetNodes)(graph, nullptr, &nodes), CUDA_SUCCESS);
            EXPECT_EQ(nodes, 20U) << "the guard added a node";
            EXPECT_EQ(CALL(cuda, cuGraphDestroy)(graph), CUDA_SUCCESS);
        }
    });
}

TEST_F(GuardStreams, WhoHasUsedUpHisTimeWaitsAndIsSeenToWait) {
    grant(kWhole / 1000, -1'000'000'000);
    gpusim::ChildProcess child([this](gpusim::Wire& wire) {
        const Worker worker(container_.facade());
        EXPECT_EQ(worker.launch(kMillisecond), CUDA_SUCCESS);
        wire.send();
    });
    EXPECT_TRUE(soon([this] { return time().waiting.load() == 1; }));
    grant(kWhole);
    EXPECT_EQ(child.wire().receive(), 1U);
    EXPECT_EQ(child.join(), 0);
    EXPECT_GT(time().waited_ns.load(), 0);
    EXPECT_EQ(time().waiting.load(), 0U);
}

// The container gets half of the GPU: its last grant from the arbiter is very old.
TEST_F(GuardStreams, WithoutAnArbiterEachHasWhatHeIsSureOf) {
    write_grant(limit().grant,
                {monotonic_ns() - 3600'000'000'000, kWhole, {{0, kWhole}, {0, kWhole}}});
    in_worker([](const Worker& worker) {
        CUevent start = worker.mark();
        for (int i = 0; i < 40; i++) {
            EXPECT_EQ(worker.launch(10 * kMillisecond), CUDA_SUCCESS);
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        }
        EXPECT_GT(worker.ns_between(start, worker.mark()), 700 * kMillisecond)
            << "400 ms of work at half the GPU, minus the initial balance";
    });
}

// Four processes together get what one alone would get.
TEST_F(GuardStreams, WithoutAnArbiterProcessesShareWhatTheirContainerIsSureOf) {
    limit().cores.store(20 * kPercent);
    write_grant(limit().grant,
                {monotonic_ns() - 3600'000'000'000, 20 * kPercent, {{0, kWhole}, {0, kWhole}}});
    std::vector<std::unique_ptr<gpusim::ChildProcess>> children;
    for (int i = 0; i < 4; i++) {
        children.push_back(std::make_unique<gpusim::ChildProcess>([&](gpusim::Wire& wire) {
            const Worker worker(container_.facade());
            wire.send();
            for (;;) {
                worker.launch(2 * kMillisecond);
                worker.wait();
            }
        }));
    }
    for (const auto& child : children)
        EXPECT_EQ(child->wire().receive(), 1U);
    const auto used = [&](std::int64_t now) {
        std::int64_t sum = 0;
        for (const auto& child : children)
            sum += used_ns(node_, child->pid(), gpusim::Engine::compute, now);
        return sum;
    };
    std::this_thread::sleep_for(1s);  // until the initial balance is used up
    const std::int64_t start = monotonic_ns();
    const std::int64_t before = used(start);
    std::this_thread::sleep_for(4s);
    const std::int64_t end = monotonic_ns();
    const double percent =
        100.0 * static_cast<double>(used(end) - before) / static_cast<double>(end - start);
    EXPECT_LE(percent, 28) << "of the GPU; it would be 59 if each process counted for itself";
    for (const auto& child : children)
        child->kill_hard();
}

TEST_F(GuardStreams, WhereTimeIsNotSharedNothingIsCounted) {
    limit().is_timed.store(0);
    in_worker([this](const Worker& worker) {
        for (int i = 0; i < 100; i++)
            EXPECT_EQ(worker.launch(10 * kMicrosecond), CUDA_SUCCESS);
        EXPECT_FALSE(is_in_flight());
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(in_flight_total(), 0);
    });
}

// The driver's error goes to the program; the guard does not wait because of it.
TEST_F(GuardStreams, AFaultStopsNobody) {
    in_worker([this](const Worker& worker) {
        for (int i = 0; i < 20; i++)
            EXPECT_EQ(worker.launch(20 * kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(node_.control("fault 0 kernel illegal-address"), 0);
        CUresult result = CUDA_SUCCESS;
        for (int i = 0; i < 1000 && result == CUDA_SUCCESS; i++)
            result = worker.launch(20 * kMillisecond);
        EXPECT_EQ(result, CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(worker.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(worker.launch(1), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

TEST_F(GuardStreams, AForkedChildHasNoWork) {
    in_worker([this](const Worker& worker) {
        EXPECT_EQ(worker.launch(2000 * kMillisecond), CUDA_SUCCESS);
        in_child([&] { EXPECT_EQ(worker.launch(1), CUDA_ERROR_NOT_INITIALIZED); });
        EXPECT_TRUE(is_in_flight()) << "the parent's work";
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace tessera::guard
