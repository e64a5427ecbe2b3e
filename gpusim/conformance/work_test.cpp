// Goal: streams, events, kernels, copies and host functions do what the CUDA driver API says, in
// its order and with its error codes. Method: a kernel whose duration is a parameter, and times
// between events behind other work, which do not depend on the host.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

// Longer than a test's process may have to wait for a core.
constexpr std::uint64_t kLong = 300 * kMillisecond;

class ConformingWork : public Conformance {};

TEST_F(ConformingWork, KernelsOfAStreamRunInOrderAndTakeTheirTime) {
    in_worker([this](const Worker& worker) {
        CUstream stream = worker.make_stream();
        EXPECT_EQ(worker.launch(kLong, stream), CUDA_SUCCESS);
        CUevent start = worker.mark(stream);
        EXPECT_EQ(CALL(worker.cuda, cuEventQuery)(start), CUDA_ERROR_NOT_READY);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
        for (int i = 0; i < 3; i++)
            EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
        CUevent end = worker.mark(stream);
        expect_time(worker.ns_between(start, end), 3 * kMillisecond);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
    });
}

TEST_F(ConformingWork, ACopyAndAKernelRunBesideEachOther) {
    in_worker([](const Worker& worker) {
        CUdeviceptr memory = 0;
        std::vector<char> host(std::size_t{24} << 20);
        EXPECT_EQ(CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size()), CUDA_SUCCESS);
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        CUevent start = worker.mark(one);
        worker.launch(kLong, one);
        EXPECT_EQ(CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), other),
                  CUDA_SUCCESS);
        CUevent copied = worker.mark(other);
        CUevent end = worker.mark(one);
        EXPECT_EQ(CALL(worker.cuda, cuEventSynchronize)(copied), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuEventQuery)(end), CUDA_ERROR_NOT_READY)
            << "some milliseconds of 300";
        EXPECT_GT(worker.ns_between(start, end), worker.ns_between(start, copied));
    });
}

TEST_F(ConformingWork, AStreamWaitsForAnEventOfAnother) {
    in_worker([](const Worker& worker) {
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        worker.launch(kLong, one);
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

TEST_F(ConformingWork, EachThreadHasAStreamOfItsOwn) {
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

TEST_F(ConformingWork, FunctionsOfTheHostAreCalledInTheirPlace) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        static std::atomic<int> calls = 0;
        int seven = 7;
        CUstream stream = worker.make_stream();
        worker.launch(kLong, stream);
        CUevent kernel = worker.mark(stream);
        EXPECT_EQ(CALL(cuda, cuLaunchHostFunc)(
                      stream, [](void* data) { calls = *static_cast<int*>(data); }, &seven),
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

// The GPU goes on by itself, whatever the host is busy with.
TEST_F(ConformingWork, WhatWaitsForACopyBeginsWhenThatIsDone) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        constexpr std::size_t kBytes = std::size_t{16} << 20;
        void* host = nullptr;
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(cuda, cuMemAllocHost_v2)(&host, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, kBytes), CUDA_SUCCESS);
        CUstream calling = worker.make_stream();
        CUstream copying = worker.make_stream();
        CUstream working = worker.make_stream();
        static constexpr auto kBusy = std::chrono::milliseconds(100);
        EXPECT_EQ(CALL(cuda, cuLaunchHostFunc)(
                      calling, [](void*) { std::this_thread::sleep_for(kBusy); }, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyHtoDAsync_v2)(memory, host, kBytes, copying), CUDA_SUCCESS);
        CUevent copied = worker.mark(copying);
        EXPECT_EQ(CALL(cuda, cuStreamWaitEvent)(working, copied, 0), CUDA_SUCCESS);
        worker.launch(kMillisecond, working);
        CUevent end = worker.mark(working);
        std::this_thread::sleep_for(2 * kBusy);
        EXPECT_GE(worker.ns_between(copied, end), kMillisecond);
        EXPECT_LT(worker.ns_between(copied, end), 50 * kMillisecond);
    });
}

// Also behind work that was done long before and that no call has queried.
TEST_F(ConformingWork, AnEventIsNoSoonerThanItWasRecorded) {
    in_worker([](const Worker& worker) {
        constexpr auto kPause = std::chrono::milliseconds(20);
        const auto host_ns = [] {
            return std::chrono::steady_clock::now().time_since_epoch() /
                   std::chrono::nanoseconds(1);
        };
        CUstream stream = worker.make_stream();
        worker.launch(kMillisecond, stream);
        CUevent done = worker.mark(stream);
        std::this_thread::sleep_for(kPause);
        const auto before = host_ns();
        CUevent first = worker.mark(stream);
        CUevent second = worker.mark(stream);
        worker.launch(kMillisecond, stream);
        CUevent last = worker.mark(stream);
        const auto at_most = static_cast<std::uint64_t>(host_ns() - before) + 2 * kMillisecond;
        EXPECT_GE(worker.ns_between(done, first), 15 * kMillisecond);
        EXPECT_LT(worker.ns_between(first, second), at_most);
        EXPECT_GE(worker.ns_between(second, last), kMillisecond);
        EXPECT_LT(worker.ns_between(second, last), at_most);
    });
}

TEST_F(ConformingWork, EventsSayWhatCannotBeMeasured) {
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
        EXPECT_EQ(elapsed(nullptr, start, end), CUDA_ERROR_INVALID_HANDLE)
            << "no place for the time; seen with driver 580.159.04 on an H100";
        EXPECT_EQ(CALL(cuda, cuEventDestroy_v2)(end), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(nullptr), CUDA_ERROR_INVALID_HANDLE);
        EXPECT_EQ(CALL(cuda, cuEventCreate)(&end, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
    });
}

TEST_F(ConformingWork, EachWayToLaunchIsTheSameWork) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        std::uint64_t ns = kMillisecond;
        void* parameters[] = {&ns};
        std::size_t size = sizeof ns;
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &ns, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        const CUlaunchConfig config = {1, 1, 1, 1024, 1, 1, 0, nullptr, &attribute, 1};
        worker.launch(kLong);
        CUevent start = worker.mark();
        EXPECT_EQ(
            CALL(cuda, cuLaunchKernel)(worker.spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLaunchCooperativeKernel)(worker.spin, 1, 1, 1, 1024, 1, 1, 0,
                                                        nullptr, parameters),
                  CUDA_SUCCESS);
        expect_time(worker.ns_between(start, worker.mark()), 3 * kMillisecond);
        EXPECT_EQ(CALL(cuda, cuLaunchKernel)(worker.spin, 1, 1, 1, 1025, 1, 1, 0, nullptr,
                                             parameters, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(ConformingWork, BytesAreThereWhenTheStreamIsDone) {
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
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(words[0], 0xffffffffU);
        EXPECT_EQ(words[3], 0x01020304U);
    });
}

TEST_F(ConformingWork, TheDefaultStreamAndBlockingOnesWaitForEachOther) {
    in_worker([](const Worker& worker) {
        CUstream blocking = worker.make_stream(CU_STREAM_DEFAULT);
        worker.launch(kLong, blocking);
        CUevent before = worker.mark(blocking);
        worker.launch(kMillisecond);
        CUevent between = worker.mark();
        worker.launch(kMillisecond, blocking);
        CUevent after = worker.mark(blocking);
        EXPECT_GE(worker.ns_between(before, between), kMillisecond);
        EXPECT_GE(worker.ns_between(between, after), kMillisecond);
    });
}

TEST_F(ConformingWork, ModulesGiveKernelsAndVariables) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUdeviceptr pointer = 0;
        std::size_t bytes = 0;
        CUfunction function = nullptr;
        EXPECT_EQ(CALL(cuda, cuModuleGetGlobal_v2)(&pointer, &bytes, worker.module, "table"),
                  CUDA_SUCCESS);
        EXPECT_EQ(bytes, 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, bytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&function, worker.module, "nothing"),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuModuleGetFunction)(&function, worker.module, "no_such"),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(cuda, cuModuleGetGlobal_v2)(&pointer, &bytes, worker.module, "no_such"),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(CALL(cuda, cuModuleUnload)(worker.module), CUDA_SUCCESS);
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        EXPECT_EQ(CALL(cuda, cuLibraryLoadData)(&library, kKernels, nullptr, nullptr, 0, nullptr,
                                                nullptr, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLibraryGetKernel)(&kernel, library, "spin"), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuKernelGetFunction)(&function, kernel), CUDA_SUCCESS);
        const std::filesystem::path path =
            std::filesystem::temp_directory_path() / ("kernels" + std::to_string(getpid()));
        std::ofstream(path) << kKernels;
        EXPECT_EQ(CALL(cuda, cuLibraryLoadFromFile)(&library, path.c_str(), nullptr, nullptr, 0,
                                                    nullptr, nullptr, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLibraryGetKernel)(&kernel, library, "spin"), CUDA_SUCCESS);
        std::filesystem::remove(path);
    });
}

}  // namespace
}  // namespace gpusim
