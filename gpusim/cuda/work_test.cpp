// Goal: streams, events, kernels, copies and functions of the host do what the CUDA driver API says
// of them, in its order and with its error codes; times are those of the device. Method: the real
// symbols in a process of their own; times between events behind other work, which do not depend on
// the host.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

// Longer than a test's process may have to wait for a core.
constexpr std::uint64_t kLong = 300 * kMillisecond;

class CudaWork : public testing::Test {
  protected:
    SimulatedNode node_{kTwoCards};

    template <typename Body>
    void in_worker(Body body) const {
        in_child([&] {
            const Worker worker(node_.library("libcuda.so.1"));
            body(worker);
        });
    }
};

TEST_F(CudaWork, KernelsOfAStreamRunInOrderAndTakeTheirTime) {
    in_worker([](const Worker& worker) {
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(kLong, stream), CUDA_SUCCESS);
        CUevent start = worker.mark(stream);
        EXPECT_EQ(CALL(worker.cuda, cuEventQuery)(start), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
        CUevent end = worker.mark(stream);
        EXPECT_EQ(worker.ns_between(start, end), 3 * kMillisecond);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaWork, ManyBlocksComeInWaves) {
    in_worker([](const Worker& worker) {
        worker.launch(kLong);
        CUevent start = worker.mark();
        EXPECT_EQ(worker.launch(kMillisecond, nullptr, 3 * kWholeCardBlocks - 1), CUDA_SUCCESS);
        EXPECT_EQ(worker.ns_between(start, worker.mark()), 3 * kMillisecond);
    });
}

TEST_F(CudaWork, EachWayToLaunchIsTheSameWork) {
    in_worker([](const Worker& worker) {
        std::uint64_t ns = kMillisecond;
        void* parameters[] = {&ns};
        std::size_t size = sizeof ns;
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &ns, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        CUlaunchConfig config = {1, 1, 1, 1024, 1, 1, 0, nullptr, &attribute, 1};
        worker.launch(kLong);
        CUevent start = worker.mark();
        const Library& cuda = worker.cuda;
        EXPECT_EQ(
            CALL(cuda, cuLaunchKernel)(worker.spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchCooperativeKernel)(worker.spin, 40, 1, 1, 1024, 1, 1, 0,
                                                        nullptr, parameters),
                  CUDA_SUCCESS);
        EXPECT_EQ(worker.ns_between(start, worker.mark()), 3 * kMillisecond);
        config.gridDimX = 41;
        EXPECT_EQ(CALL(cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr),
                  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        EXPECT_EQ(CALL(cuda, cuLaunchKernel)(worker.spin, 1, 1, 1, 1025, 1, 1, 0, nullptr,
                                             parameters, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(
            CALL(cuda, cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaWork, ACopyAndAKernelRunBesideEachOther) {
    in_worker([](const Worker& worker) {
        CUdeviceptr memory = 0;
        std::vector<char> host(std::size_t{24} << 20);
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        CUevent start = worker.mark(one);
        worker.launch(20 * kMillisecond, one);
        EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), other),
                  CUDA_SUCCESS);
        CUevent copied = worker.mark(other);
        CUevent end = worker.mark(one);
        EXPECT_GT(worker.ns_between(start, end), worker.ns_between(start, copied));
        EXPECT_LT(worker.ns_between(copied, end), 20 * kMillisecond) << "it began before the end";
    });
}

TEST_F(CudaWork, BytesAreThereWhenTheStreamIsDone) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, 4096), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        std::uint32_t words[4] = {};
        worker.launch(kLong, stream);
        EXPECT_EQ(CALL(cuda, cuMemsetD32Async)(memory, 0x01020304, 4, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8Async)(memory, 0xff, 4, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoDAsync_v2)(memory + 1024, memory, 16, stream),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoHAsync_v2)(words, memory + 1024, 16, stream), CUDA_SUCCESS);
        EXPECT_EQ(words[1], 0U);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(words[0], 0xffffffffU);
        EXPECT_EQ(words[3], 0x01020304U);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoHAsync_v2)(words, memory + 4090, 16, stream),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaWork, AStreamWaitsForAnEventOfAnother) {
    in_worker([](const Worker& worker) {
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        worker.launch(20 * kMillisecond, one);
        CUevent first = worker.mark(one);
        EXPECT_EQ(CALL(worker.cuda, cuStreamWaitEvent)(other, first, 0), CUDA_SUCCESS);
        worker.launch(kMillisecond, one);
        worker.launch(2 * kMillisecond, other);
        CUevent end = worker.mark(other);
        EXPECT_GE(worker.ns_between(first, end), 2 * kMillisecond);
        CUevent never = worker.make_event();
        EXPECT_EQ(CALL(worker.cuda, cuStreamWaitEvent)(other, never, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(other), CUDA_SUCCESS) << "nothing to wait for";
    });
}

// Copies, so that they are not simply behind the kernels on the same engine.
TEST_F(CudaWork, TheDefaultStreamAndBlockingOnesWaitForEachOther) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUdeviceptr memory = 0;
        std::vector<char> host(std::size_t{12} << 20);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        const auto copy = [&](CUstream stream) {
            EXPECT_EQ(CALL(cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), stream),
                      CUDA_SUCCESS);
        };
        CUstream blocking = worker.make_stream(CU_STREAM_DEFAULT);
        CUstream free = worker.make_stream(CU_STREAM_NON_BLOCKING);
        worker.launch(kLong, blocking);
        CUevent kernel = worker.mark(blocking);
        copy(free);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(free), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(kernel), CUDA_ERROR_NOT_READY);
        copy(nullptr);
        CUevent copied = worker.mark();
        EXPECT_GE(worker.ns_between(kernel, copied), kMillisecond) << "12 MiB take a millisecond";
        worker.launch(kLong);
        CUevent last = worker.mark();
        copy(blocking);
        EXPECT_GE(worker.ns_between(last, worker.mark(blocking)), kMillisecond);
    });
}

TEST_F(CudaWork, EachThreadHasAStreamOfItsOwn) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const auto query = CALL(cuda, cuStreamQuery_ptsz);
        worker.launch(kLong, CU_STREAM_PER_THREAD);
        EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
        std::thread([&] {
            EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
            EXPECT_EQ(query(nullptr), CUDA_SUCCESS);
        }).join();
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize_ptsz)(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(query(nullptr), CUDA_SUCCESS);
    });
}

TEST_F(CudaWork, FunctionsOfTheHostAreCalledInTheirPlace) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        static std::atomic<int> calls = 0;
        CUstream stream = worker.make_stream();
        worker.launch(kLong, stream);
        CUevent kernel = worker.mark(stream);
        EXPECT_EQ(CALL(cuda, cuLaunchHostFunc)(
                      stream, [](void* data) { calls = *static_cast<int*>(data); },
                      const_cast<int*>(&std::as_const(*std::make_unique<int>(7).release()))),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamAddCallback)(
                      stream,
                      [](CUstream, CUresult status, void*) {
                          calls = status == CUDA_SUCCESS ? calls + 1 : -1;
                      },
                      nullptr, 0),
                  CUDA_SUCCESS);
        worker.launch(kMillisecond, stream);
        EXPECT_EQ(calls, 0);
        EXPECT_GE(worker.ns_between(kernel, worker.mark(stream)), kMillisecond);
        EXPECT_EQ(calls, 8);
    });
}

TEST_F(CudaWork, NoThreadIsStartedWithoutNeed) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer starts its own";
#endif
    in_worker([](const Worker& worker) {
        const auto threads = [] {
            return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
        };
        worker.launch(kMillisecond);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(threads(), 1);
        EXPECT_EQ(
            CALL(worker.cuda, cuLaunchHostFunc)(nullptr, [](void*) {}, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
        EXPECT_EQ(threads(), 2);
    });
}

TEST_F(CudaWork, EventsSayWhatCannotBeMeasured) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const auto elapsed = CALL(cuda, cuEventElapsedTime);
        float ms = 0;
        CUevent never = worker.make_event();
        CUevent untimed = worker.make_event(CU_EVENT_DISABLE_TIMING);
        CUevent start = worker.mark();
        EXPECT_EQ(CALL(cuda, cuEventRecord)(untimed, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(never), CUDA_SUCCESS);
        EXPECT_EQ(elapsed(&ms, start, never), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(elapsed(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
        worker.launch(kLong);
        CUevent end = worker.mark();
        EXPECT_EQ(elapsed(&ms, start, end), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(elapsed(nullptr, start, end), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuEventDestroy_v2)(end), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(nullptr), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuEventCreate)(&end, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

TEST_F(CudaWork, AProgramIsOnlySoFarAhead) {
    in_worker([](const Worker& worker) {
        CUstream stream = worker.make_stream();
        worker.launch(30 * kMillisecond, stream);
        CUevent first = worker.mark(stream);
        for (int i = 0; i < 1100; i++)
            EXPECT_EQ(worker.launch(kMicrosecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuEventQuery)(first), CUDA_SUCCESS) << "it had to wait for it";
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
    });
}

TEST_F(CudaWork, ModulesGiveKernelsAndVariables) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUdeviceptr pointer = 0;
        std::size_t bytes = 0;
        CUfunction function = nullptr;
        CUmodule other = nullptr;
        EXPECT_EQ(CALL(cuda, cuModuleGetGlobal_v2)(&pointer, &bytes, worker.module, "table"),
                  CUDA_SUCCESS);
        EXPECT_EQ(bytes, std::size_t{4} << 20);
        EXPECT_EQ(node_.used(0), 4 * kMiB) << "a variable takes memory of the card";
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&function, worker.module, "nothing"),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&function, worker.module, "no_such"),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(cuda, cuModuleGetGlobal_v2)(&pointer, &bytes, worker.module, "no_such"),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(cuda, cuModuleLoadData)(&other,
                                               "\x7f"
                                               "ELF"),
                  CUDA_ERROR_INVALID_IMAGE);
        EXPECT_EQ(CALL(cuda, cuModuleUnload)(worker.module), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(worker.launch(1), CUDA_ERROR_INVALID_HANDLE);
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        EXPECT_EQ(CALL(cuda, cuLibraryLoadData)(&library, kKernels, nullptr, nullptr, 0, nullptr,
                                                nullptr, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLibraryGetKernel)(&kernel, library, "spin"), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuKernelGetFunction)(&function, kernel), CUDA_SUCCESS);
    });
}

TEST_F(CudaWork, AContextThatEndsEndsItsWork) {
    in_worker([this](const Worker& worker) {
        worker.launch(5 * kMillisecond, worker.make_stream());
        EXPECT_EQ(CALL(worker.cuda, cuCtxDestroy_v2)(worker.context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuStreamCreate)(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST_F(CudaWork, AFaultyKernelSpoilsItsContext) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        EXPECT_EQ(node_.control("fault 0 kernel illegal-address"), 0);
        CUevent before = worker.mark();
        worker.launch(kMillisecond);
        EXPECT_EQ(worker.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(before), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(worker.launch(1), CUDA_ERROR_ILLEGAL_ADDRESS);
        EXPECT_EQ(CALL(cuda, cuCtxDestroy_v2)(worker.context), CUDA_SUCCESS);
        const Worker next(node_.library("libcuda.so.1"));
        EXPECT_EQ(next.launch(kMillisecond), CUDA_SUCCESS);
        EXPECT_EQ(next.wait(), CUDA_SUCCESS) << "it was one kernel's fault";
    });
}

TEST_F(CudaWork, AKernelThatHangsGoesWithItsContext) {
    in_worker([this](const Worker& worker) {
        EXPECT_EQ(node_.control("fault 0 kernel hang"), 0);
        CUevent end = (worker.launch(kMillisecond), worker.mark());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(CALL(worker.cuda, cuEventQuery)(end), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(worker.cuda, cuCtxDestroy_v2)(worker.context), CUDA_SUCCESS);
        const Worker next(node_.library("libcuda.so.1"));
        EXPECT_EQ((next.launch(kMillisecond), next.wait()), CUDA_SUCCESS);
    });
}

TEST_F(CudaWork, ACardThatIsLostIsNotWaitedFor) {
    in_worker([this](const Worker& worker) {
        worker.launch(3600'000 * kMillisecond);
        EXPECT_EQ(node_.control("lose 0"), 0);
        EXPECT_EQ(worker.wait(), CUDA_ERROR_UNKNOWN);
    });
}

}  // namespace
}  // namespace gpusim
