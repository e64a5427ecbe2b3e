// Goal: work counts for as long as a GPU does it, and on that GPU, whatever happens meanwhile to
// its stream, its context or its thread, and however many streams there are. Method: one process
// under the facade, and what it writes in the accounts.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/clock.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::Worker;
using namespace std::chrono_literals;

constexpr std::int64_t kWholeMs = 1'000'000;

class GuardStreamLives : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{gpusim::kTwoGpus};
    GuardedContainer container_{
        node_, {{0, kGiB, 0, kWhole / 2, kWhole}, {1, kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override {
        for (int gpu = 0; gpu < 2; gpu++)
            container_.grant_plenty(gpu);
    }
    [[nodiscard]] const InFlight& kernels(int gpu = 0) const {
        return container_.region().accounts().times[0][gpu].in_flight[0];
    }
    [[nodiscard]] bool is_in_flight(int gpu = 0) const { return kernels(gpu).since_ns.load() != 0; }
    // How long there was work in flight, once there is none any more.
    [[nodiscard]] std::int64_t ms_in_flight(int gpu = 0) const {
        for (int tried = 0; tried < 2000 && is_in_flight(gpu); tried++)
            std::this_thread::sleep_for(5ms);
        EXPECT_FALSE(is_in_flight(gpu)) << "10 seconds later";
        return kernels(gpu).total_ns.load() / kWholeMs;
    }
    template <typename Body>
    void in_worker(Body body) const {
        gpusim::in_child([&] {
            const Worker worker(container_.facade());
            body(worker);
        });
    }
};

TEST_F(GuardStreamLives, ADestroyedStreamWorksOn) {
    in_worker([this](const Worker& worker) {
        for (const auto destroy :
             {CALL(worker.cuda, cuStreamDestroy_v2), CALL(worker.cuda, cuStreamDestroy)}) {
            const std::int64_t before = ms_in_flight();
            CUstream stream = worker.make_stream();
            EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(destroy(stream), CUDA_SUCCESS);
            EXPECT_TRUE(is_in_flight());
            EXPECT_GE(ms_in_flight() - before, 290);
        }
    });
}

TEST_F(GuardStreamLives, ADestroyedStreamIsWaitedForWithItsContext) {
    in_worker([this](const Worker& worker) {
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_FALSE(is_in_flight());
        EXPECT_GE(ms_in_flight(), 290);
        EXPECT_EQ(CALL(worker.cuda, cuCtxDestroy_v2)(worker.context), CUDA_SUCCESS);
    });
}

TEST_F(GuardStreamLives, AThreadEndsBeforeItsWork) {
    in_worker([this](const Worker& worker) {
        std::thread([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            std::uint64_t ns = 300 * kMillisecond;
            void* parameters[] = {&ns};
            EXPECT_EQ(CALL(worker.cuda, cuLaunchKernel_ptsz)(worker.spin, 1, 1, 1, 32, 1, 1, 0,
                                                             nullptr, parameters, nullptr),
                      CUDA_SUCCESS);
        }).join();
        EXPECT_TRUE(is_in_flight());
        const std::int64_t ms = ms_in_flight();
        EXPECT_GE(ms, 290);
        EXPECT_LE(ms, 3000);
    });
}

TEST_F(GuardStreamLives, AThreadEndsWithoutAContextBeforeItsWork) {
    in_worker([this](const Worker& worker) {
        std::thread([&] {
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            EXPECT_EQ(worker.launch(300 * kMillisecond, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
        }).join();
        EXPECT_TRUE(is_in_flight());
        EXPECT_GE(ms_in_flight(), 290);
    });
}

TEST_F(GuardStreamLives, AStreamIsDestroyedWhileItIsCaptured) {
    in_worker([this](const Worker& worker) {
        // A kernel long enough that the next one is measured.
        EXPECT_EQ(worker.launch(5 * kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
        EXPECT_TRUE(is_in_flight());
        EXPECT_GE(ms_in_flight(), 290);
    });
}

// Loads into the current context.
CUfunction load_spin(const gpusim::Library& cuda) {
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    EXPECT_EQ(CALL(cuda, cuModuleLoadData)(&module, gpusim::kKernels), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&spin, module, "spin"), CUDA_SUCCESS);
    return spin;
}

void launch(const gpusim::Library& cuda, CUfunction spin, std::uint64_t ns, CUstream stream) {
    void* parameters[] = {&ns};
    EXPECT_EQ(CALL(cuda, cuLaunchKernel)(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr),
              CUDA_SUCCESS);
}

// Retains device 0's primary context once more, and makes it current.
CUfunction use_primary(const gpusim::Library& cuda) {
    CUcontext primary = nullptr;
    EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(primary), CUDA_SUCCESS);
    return load_spin(cuda);
}

// cuCtxDestroy waits for the context's work. That work counts, and the next launch waits for a
// permit.
TEST_F(GuardStreamLives, AContextEndsBeforeItsWork) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        for (int round = 0; round < 20; round++) {
            CUcontext context = nullptr;
            ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
            launch(cuda, load_spin(cuda), 20 * kMillisecond,
                   round % 2 == 0 ? worker.make_stream() : nullptr);
            ASSERT_EQ(CALL(cuda, cuCtxDestroy_v2)(context), CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
        EXPECT_GE(ms_in_flight(), 20 * 20 - 5);
        EXPECT_NE(CALL(cuda, cuCtxDestroy_v2)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(20 * kMillisecond), CUDA_SUCCESS);
        EXPECT_GE(ms_in_flight(), 21 * 20 - 5) << "a failed cuCtxDestroy changes nothing";
    });
}

// The guard does not query streams of a context that is gone.
TEST_F(GuardStreamLives, APrimaryContextEndsBeforeItsWork) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        for (int round = 0; round < 60; round++) {
            CUfunction spin = use_primary(cuda);
            for (CUstream stream : {worker.make_stream(), CUstream{nullptr}})
                launch(cuda, spin, 20 * kMillisecond, stream);
            std::this_thread::sleep_for(std::chrono::microseconds(round * 100));
            ASSERT_EQ(round % 2 == 0 ? CALL(cuda, cuDevicePrimaryCtxReset_v2)(0)
                                     : CALL(cuda, cuDevicePrimaryCtxRelease_v2)(0),
                      CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
        EXPECT_LE(ms_in_flight(), 60 * 60);
    });
}

// One use of a primary context ends, and the context lives on, while another context's work ends at
// the same time.
TEST_F(GuardStreamLives, AUseOfAPrimaryContextEnds) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUfunction spin = use_primary(cuda);
        launch(cuda, spin, 1000 * kMillisecond, worker.make_stream());
        std::atomic<bool> may_end = false;
        std::thread user([&] {
            while (!may_end) {
                CUcontext again = nullptr;
                EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRetain)(&again, 0), CUDA_SUCCESS);
                EXPECT_EQ(CALL(cuda, cuDevicePrimaryCtxRelease)(0), CUDA_SUCCESS);
            }
        });
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        for (int i = 0; i < 200; i++) {
            EXPECT_EQ(worker.launch(10 * kMicrosecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            EXPECT_LE(kernels().since_ns.load(), monotonic_ns());
        }
        may_end = true;
        user.join();
        EXPECT_GE(ms_in_flight(), 990);
    });
}

// The burst budget of one context's default stream is not valid for another's.
TEST_F(GuardStreamLives, AContextIsMadeMeanwhile) {
    in_worker([this](const Worker& worker) {
        for (int i = 0; i < 20'000; i++)
            worker.launch(kMicrosecond);
        EXPECT_EQ(worker.launch(300 * kMillisecond), CUDA_SUCCESS);
        const Worker other(container_.facade());
        EXPECT_EQ(other.launch(600 * kMillisecond), CUDA_SUCCESS);
        EXPECT_GE(ms_in_flight(), 890);
    });
}

// A copy may be given to a stream of another context. It is the work of the stream's GPU, and so is
// what comes behind it.
TEST_F(GuardStreamLives, AStreamIsFirstUsedFromAnotherGpusContext) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUcontext second = nullptr;
        CUdeviceptr memory = 0;
        char host[4096] = {};
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&second, 0, 1), CUDA_SUCCESS);
        CUfunction spin = load_spin(cuda);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, sizeof host), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoDAsync_v2)(memory, host, sizeof host, stream),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(second), CUDA_SUCCESS);
        launch(cuda, spin, 300 * kMillisecond, stream);
        EXPECT_TRUE(is_in_flight(1));
        EXPECT_FALSE(is_in_flight(0));
        EXPECT_GE(ms_in_flight(1), 290);
    });
}

// Goal: where the launch on one GPU is refused, no other GPU has work. Method: the kernel of the
// second needs more local memory than the limit leaves.
TEST_F(GuardStreamLives, ARefusedLaunchOnSeveralGpusIsNoWork) {
    in_worker([this](const Worker& worker) {
        const gpusim::Library& cuda = worker.cuda;
        CUstream first = worker.make_stream();
        CUcontext context = nullptr;
        EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 1), CUDA_SUCCESS);
        CUmodule module = nullptr;
        CUfunction larger = nullptr;
        EXPECT_EQ(CALL(cuda, cuModuleLoadData)(&module,
                                               "//gpusim-local larger 102400\n"
                                               ".version 6.0\n"
                                               ".visible .entry larger()\n"),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&larger, module, "larger"), CUDA_SUCCESS);
        CUstream second = nullptr;
        EXPECT_EQ(CALL(cuda, cuStreamCreate)(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        std::uint64_t ns = kMillisecond;
        void* parameters[] = {&ns};
        CUDA_LAUNCH_PARAMS_v1 launches[] = {{worker.spin, 1, 1, 1, 32, 1, 1, 0, first, parameters},
                                            {larger, 1, 1, 1, 32, 1, 1, 0, second, nullptr}};
        EXPECT_EQ(CALL(cuda, cuLaunchCooperativeKernelMultiDevice)(launches, 2, 0),
                  CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_FALSE(is_in_flight(0));
        EXPECT_EQ(kernels(0).total_ns.load(), 0);
    });
}

TEST_F(GuardStreamLives, ThereAreMoreStreamsThanAreKept) {
    in_worker([this](const Worker& worker) {
        std::vector<CUstream> streams(kMaxStreams + 10);
        for (CUstream& stream : streams) {
            stream = worker.make_stream();
            EXPECT_EQ(worker.launch(1, stream), CUDA_SUCCESS);
        }
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        for (CUstream stream : {streams.back(), streams.front()}) {
            const std::int64_t before = ms_in_flight();
            EXPECT_EQ(worker.launch(300 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_TRUE(is_in_flight());
            EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
            EXPECT_FALSE(is_in_flight());
            EXPECT_GE(ms_in_flight() - before, 290);
        }
    });
}

// One stream more than the table has places for waits until a place is free.
TEST_F(GuardStreamLives, MoreStreamsHaveWorkThanAreKept) {
    in_worker([this](const Worker& worker) {
        EXPECT_EQ(worker.launch(500 * kMillisecond, worker.make_stream()), CUDA_SUCCESS);
        for (int i = 1; i < kMaxStreams; i++)
            EXPECT_EQ(worker.launch(1, worker.make_stream()), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(300 * kMillisecond, worker.make_stream()), CUDA_SUCCESS);
        EXPECT_GE(ms_in_flight(), 780);
    });
}

}  // namespace
}  // namespace tessera::guard
