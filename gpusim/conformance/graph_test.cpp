// Goal: graphs built by hand and by capture run their work, and calls that cannot be captured
// invalidate the capture with the documented error. Method: as in work_test.cpp.
#include <atomic>
#include <thread>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

class ConformingGraphs : public Conformance {
  protected:
    // `line` is the caller's, for messages.
    static CUgraphExec instantiate(const Worker& worker, CUgraph graph,
                                   int line = __builtin_LINE()) {
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS)
            << "line " << line;
        return exec;
    }
    // How long a launch of it takes on the device.
    static std::uint64_t ns_of(const Worker& worker, CUgraphExec exec,
                               int line = __builtin_LINE()) {
        CUstream stream = worker.make_stream();
        worker.launch(200 * kMillisecond, stream);
        CUevent start = worker.mark(stream);
        EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(exec, stream), CUDA_SUCCESS) << "line " << line;
        return worker.ns_between(start, worker.mark(stream), line);
    }
    static std::size_t node_count(const Worker& worker, CUgraph graph,
                                  int line = __builtin_LINE()) {
        std::size_t count = 0;
        EXPECT_EQ(CALL(worker.cuda, cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS)
            << "line " << line;
        return count;
    }
    static void begin(const Worker& worker, CUstream stream,
                      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                      int line = __builtin_LINE()) {
        EXPECT_EQ(CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, mode), CUDA_SUCCESS)
            << "line " << line;
    }
    static CUgraph end(const Worker& worker, CUstream stream, CUresult expected = CUDA_SUCCESS,
                       int line = __builtin_LINE()) {
        CUgraph graph = nullptr;
        EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(stream, &graph), expected)
            << "line " << line;
        EXPECT_EQ(graph != nullptr, expected == CUDA_SUCCESS) << "line " << line;
        return graph;
    }
};

CUDA_KERNEL_NODE_PARAMS_v1 kernel(const Worker& worker, void** parameters) {
    return {worker.spin, kWholeGpuBlocks, 1, 1, 1024, 1, 1, 0, parameters, nullptr};
}

TEST_F(ConformingGraphs, MadeByHand) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUgraph graph = nullptr;
        CUgraphNode first = nullptr;
        CUgraphNode second = nullptr;
        CUgraphNode join = nullptr;
        std::uint64_t ns = 2 * kMillisecond;
        void* parameters[] = {&ns};
        const CUDA_KERNEL_NODE_PARAMS_v1 node = kernel(worker, parameters);
        EXPECT_EQ(CALL(cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphAddKernelNode)(&first, graph, nullptr, 0, &node), CUDA_SUCCESS);
        ns = kMillisecond;
        const CUDA_KERNEL_NODE_PARAMS_v2 newer = {
            worker.spin, kWholeGpuBlocks, 1,       1,       1024,   1, 1,
            0,           parameters,      nullptr, nullptr, nullptr};
        EXPECT_EQ(CALL(cuda, cuGraphAddKernelNode_v2)(&second, graph, &first, 1, &newer),
                  CUDA_SUCCESS);
        const CUgraphNode both[] = {first, second};
        EXPECT_EQ(CALL(cuda, cuGraphAddEmptyNode)(&join, graph, both, 2), CUDA_SUCCESS);
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        EXPECT_EQ(CALL(cuda, cuGraphNodeGetType)(second, &type), CUDA_SUCCESS);
        EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
        EXPECT_EQ(node_count(worker, graph), 3U);
        CUgraphExec exec = instantiate(worker, graph);
        EXPECT_EQ(CALL(cuda, cuGraphDestroy)(graph), CUDA_SUCCESS);
        expect_time(ns_of(worker, exec), 3 * kMillisecond);
        expect_time(ns_of(worker, exec), 3 * kMillisecond);  // and again
        EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
    });
}

TEST_F(ConformingGraphs, AGraphInAGraphIsACopy) {
    in_worker([this](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUgraph inner = nullptr;
        CUgraph outer = nullptr;
        CUgraphNode node = nullptr;
        std::uint64_t ns = kMillisecond;
        void* parameters[] = {&ns};
        const CUDA_KERNEL_NODE_PARAMS_v1 spin = kernel(worker, parameters);
        EXPECT_EQ(CALL(cuda, cuGraphCreate)(&inner, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphCreate)(&outer, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphAddKernelNode)(&node, inner, nullptr, 0, &spin), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphAddChildGraphNode)(&node, outer, nullptr, 0, inner),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphAddKernelNode)(&node, inner, nullptr, 0, &spin), CUDA_SUCCESS);
        expect_time(ns_of(worker, instantiate(worker, outer)), kMillisecond);
        expect_time(ns_of(worker, instantiate(worker, inner)), 2 * kMillisecond);
        EXPECT_EQ(CALL(cuda, cuGraphAddKernelNode)(&node, outer, &node, 1, &spin),
                  CUDA_ERROR_INVALID_VALUE)
            << "a node of another graph";
    });
}

TEST_F(ConformingGraphs, CapturedAndNotRun) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        static std::atomic<int> calls = 0;
        CUdeviceptr memory = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&memory, 64), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        begin(worker, stream);
        EXPECT_EQ(CALL(cuda, cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
        EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD8Async)(memory, 7, 64, stream), CUDA_SUCCESS);
        EXPECT_EQ(
            CALL(cuda, cuLaunchHostFunc)(stream, [](void*) { calls++; }, nullptr), CUDA_SUCCESS);
        CUgraph graph = end(worker, stream);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), CUDA_SUCCESS);
        EXPECT_EQ(calls, 0);
        EXPECT_EQ(node_count(worker, graph), 3U);
        CUgraphExec exec = instantiate(worker, graph);
        EXPECT_GE(ns_of(worker, exec), kMillisecond);
        EXPECT_EQ(calls, 1);
        char bytes[64] = {};
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoH_v2)(bytes, memory, 64), CUDA_SUCCESS);
        EXPECT_EQ(bytes[63], 7);
        EXPECT_EQ(CALL(cuda, cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
        EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    });
}

TEST_F(ConformingGraphs, StreamsAreDrawnInByEvents) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        const auto wait = CALL(cuda, cuStreamWaitEvent);
        CUstream one = worker.make_stream();
        CUstream other = worker.make_stream();
        const auto fork = [&] {
            begin(worker, one);
            worker.launch(kMillisecond, one);
            EXPECT_EQ(wait(other, worker.mark(one), 0), CUDA_SUCCESS);
            worker.launch(kMillisecond, other);
        };
        fork();
        CUevent joined = worker.mark(other);
        // Also in a mode that forbids unsafe calls: seen with driver 580.159.04 on an H100. The
        // query makes the capture invalid; otherwise its end would be UNJOINED.
        EXPECT_EQ(CALL(cuda, cuEventQuery)(joined), CUDA_ERROR_CAPTURED_EVENT)
            << "an event of a capture that goes on";
        end(worker, one, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        fork();
        EXPECT_EQ(wait(one, worker.mark(other), 0), CUDA_SUCCESS);
        EXPECT_EQ(node_count(worker, end(worker, one)), 2U);
        fork();
        end(worker, one, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        CUevent outside = worker.mark(other);
        begin(worker, one);
        EXPECT_EQ(wait(one, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        end(worker, one, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(CALL(cuda, cuEventQuery)(joined), CUDA_ERROR_INVALID_VALUE)
            << "an event of an invalid capture that has ended; seen with driver 580.159.04";
    });
}

TEST_F(ConformingGraphs, CapturedIntoOneThatIsThere) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUgraph graph = nullptr;
        CUgraphNode first = nullptr;
        EXPECT_EQ(CALL(cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphAddEmptyNode)(&first, graph, nullptr, 0), CUDA_SUCCESS);
        CUstream stream = worker.make_stream();
        const auto begin_in = CALL(cuda, cuStreamBeginCaptureToGraph);
        constexpr auto kMode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        EXPECT_EQ(begin_in(stream, nullptr, nullptr, nullptr, 0, kMode), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(begin_in(stream, graph, &first, nullptr, 1, kMode), CUDA_SUCCESS);
        EXPECT_EQ(worker.launch(kMillisecond, stream), CUDA_SUCCESS);
        EXPECT_EQ(end(worker, stream), graph);
        EXPECT_EQ(node_count(worker, graph), 2U);
    });
}

TEST_F(ConformingGraphs, WhatCannotBeCapturedSpoilsIt) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUstream stream = worker.make_stream(CU_STREAM_DEFAULT);
        const CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        EXPECT_EQ(CALL(cuda, cuStreamBeginCapture_v2)(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  unsupported);
        begin(worker, stream);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(stream), unsupported);
        EXPECT_EQ(worker.launch(1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        end(worker, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        begin(worker, stream);
        EXPECT_EQ(worker.launch(1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
            << "the default stream would wait for what is captured";
        end(worker, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(worker.launch(1), CUDA_SUCCESS);
    });
}

// NCCL's watchdog and PyTorch's allocator run into this.
TEST_F(ConformingGraphs, UnsafeCallsDependOnTheMode) {
    in_worker([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUstream stream = worker.make_stream();
        CUevent event = worker.mark();
        const auto query = [&] { return CALL(cuda, cuEventQuery)(event); };
        const auto query_elsewhere = [&] {
            CUresult result = CUDA_SUCCESS;
            std::thread([&] {
                EXPECT_EQ(CALL(cuda, cuCtxSetCurrent)(worker.context), CUDA_SUCCESS);
                result = query();
            }).join();
            return result;
        };
        const CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        begin(worker, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        EXPECT_EQ(query_elsewhere(), unsupported);
        end(worker, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        begin(worker, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        EXPECT_EQ(query_elsewhere(), CUDA_SUCCESS);
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        EXPECT_EQ(CALL(cuda, cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        EXPECT_EQ(query(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1), unsupported);
        end(worker, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    });
}

}  // namespace
}  // namespace gpusim
