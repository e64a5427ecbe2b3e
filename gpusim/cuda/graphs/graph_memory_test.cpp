// Goal: graphs take GPU memory exactly as the simulation defines: in allocation units, as much as a
// graph needs at once. It is refused if the GPU is full, and is gone with the context and the
// process.
#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

class GraphMemory : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 1GiB}\n"};

    template <class Body>
    void in_worker(Body body) const {
        in_child([&] { body(Worker(node_.library("libcuda.so.1"))); });
        EXPECT_EQ(node_.used(0), 0U);
    }
    // A graph of `count` captured allocations, each of which is freed before the next.
    static CUgraphExec capture(const Worker& worker, CUstream stream, std::uint64_t bytes,
                               int count) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_SUCCESS);
        for (int i = 0; i < count; i++) {
            CUdeviceptr pointer = 0;
            EXPECT_EQ(CALL(worker.cuda, cuMemAllocAsync)(&pointer, bytes, stream), CUDA_SUCCESS);
            EXPECT_EQ(worker.launch(10 * kMillisecond, stream), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
        }
        EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        return exec;
    }
};

TEST_F(GraphMemory, IsWhatAGraphNeedsAtOnce) {
    in_worker([this](const Worker& worker) {
        const std::uint64_t before = node_.used(0);
        CUstream stream = worker.make_stream();
        CUgraphExec exec = capture(worker, stream, 99 * kMiB, 5);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), before + 100 * kMiB);
        EXPECT_EQ(CALL(worker.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), before + 100 * kMiB) << "it runs";
        EXPECT_EQ(CALL(worker.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), before + 100 * kMiB) << "still";
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), before);
    });
}

TEST_F(GraphMemory, IsRefusedWhereTheGpuIsFull) {
    in_worker([this](const Worker& worker) {
        CUstream stream = worker.make_stream();
        CUgraphExec first = capture(worker, stream, 600 * kMiB, 1);
        CUgraphExec second = capture(worker, stream, 600 * kMiB, 1);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(first, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(second, stream), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(second, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(worker.cuda, cuCtxDestroy_v2)(worker.context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

}  // namespace
}  // namespace gpusim
