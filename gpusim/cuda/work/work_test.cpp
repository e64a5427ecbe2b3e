// Goal: what work costs on the simulated GPU, what is refused, and what faulty work does.
// conformance/work_test.cpp tests what the CUDA driver API says about all work. Method: the real
// symbols in a process of their own; times between events behind other work, which do not depend on
// the host.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

// Longer than a test's process may have to wait for a core.
constexpr std::uint64_t kLong = 300 * kMillisecond;

class CudaWork : public testing::Test {
  protected:
    SimulatedNode node_{kTwoGpus};

    template <typename Body>
    void in_worker(Body body) const {
        in_child([&] {
            const Worker worker(node_.library("libcuda.so.1"));
            body(worker);
        });
    }
};

TEST_F(CudaWork, AStreamThatIsGoneIsRefused) {
    in_worker([](const Worker& worker) {
        CUstream stream = worker.make_stream();
        EXPECT_EQ(CALL(worker.cuda, cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuStreamQuery)(stream), CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaWork, AGraphThatIsGoneIsRefused) {
    in_worker([](const Worker& worker) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaWork, CopiesToTheHostTakeTheirTurnToo) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUdeviceptr memory = 0;
        CUstream stream = worker.make_stream();
        std::uint32_t words[4] = {};
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, 4096), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(memory, 1, 4096), CUDA_SUCCESS);
        worker.launch(kLong, stream);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoHAsync_v2)(words, memory, 16, stream), CUDA_SUCCESS);
        EXPECT_EQ(words[1], 0U);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoHAsync_v2)(words, memory + 4090, 16, stream),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(words[1], 0x01010101U);
    });
}

TEST_F(CudaWork, ALaunchMustFitTheGpu) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        std::uint64_t ns = kMillisecond;
        void* parameters[] = {&ns};
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        CUlaunchConfig config = {40, 1, 1, 1024, 1, 1, 0, nullptr, &attribute, 1};
        EXPECT_EQ(CALL(cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr),
                  CUDA_SUCCESS);
        config.gridDimX = 41;
        EXPECT_EQ(CALL(cuda, cuLaunchKernelEx)(&config, worker.spin, parameters, nullptr),
                  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        EXPECT_EQ(
            CALL(cuda, cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
    });
}

TEST_F(CudaWork, ManyBlocksComeInWaves) {
    in_worker([](const Worker& worker) {
        worker.launch(kLong);
        CUevent start = worker.mark();
        EXPECT_EQ(worker.launch(kMillisecond, nullptr, 3 * kWholeGpuBlocks - 1), CUDA_SUCCESS);
        EXPECT_EQ(worker.ns_between(start, worker.mark()), 3 * kMillisecond);
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

TEST_F(CudaWork, AModulesVariablesTakeMemory) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUmodule other = nullptr;
        EXPECT_EQ(node_.used(0), 4 * kMiB);
        EXPECT_EQ(CALL(cuda, cuModuleLoadData)(&other,
                                               "\x7f"
                                               "ELF"),
                  CUDA_ERROR_INVALID_IMAGE);
        EXPECT_EQ(CALL(cuda, cuModuleUnload)(worker.module), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(worker.launch(1), CUDA_ERROR_INVALID_HANDLE);
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

TEST_F(CudaWork, AGpuThatIsLostIsNotWaitedFor) {
    in_worker([this](const Worker& worker) {
        worker.launch(3600'000 * kMillisecond);
        EXPECT_EQ(node_.control("lose 0"), 0);
        EXPECT_EQ(worker.wait(), CUDA_ERROR_UNKNOWN);
    });
}

}  // namespace
}  // namespace gpusim
