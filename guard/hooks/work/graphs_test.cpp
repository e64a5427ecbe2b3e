// Goal: what graphs allocate is charged as the driver has reserved it, and is refused before it is
// taken. A graph that is launched again is not refused. Method: the facade in front of the
// simulated driver; its own count is compared after each step.
#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kMiB;

using GuardGraphs = HeldMemory;

struct Graph {
    CUgraph graph = nullptr;
    CUdeviceptr pointer = 0;
};

// A graph that allocates, built by hand; `is_freed`: it also frees the memory.
Graph by_hand(const CudaProgram& tenant, std::uint64_t bytes, bool is_freed, int device = 0) {
    Graph made;
    CUgraphNode first = nullptr;
    CUgraphNode second = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {};
    wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    wanted.bytesize = bytes;
    EXPECT_EQ(CALL(tenant.cuda, cuGraphCreate)(&made.graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(tenant.cuda, cuGraphAddMemAllocNode)(&first, made.graph, nullptr, 0, &wanted),
              CUDA_SUCCESS);
    made.pointer = wanted.dptr;
    if (is_freed) {
        EXPECT_EQ(
            CALL(tenant.cuda, cuGraphAddMemFreeNode)(&second, made.graph, &first, 1, wanted.dptr),
            CUDA_SUCCESS);
    }
    return made;
}

// Captures `count` allocations, each of which is freed before the next.
CUgraph by_capture(const CudaProgram& tenant, std::uint64_t bytes, int count) {
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    EXPECT_EQ(CALL(tenant.cuda, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(CALL(tenant.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
    for (int i = 0; i < count; i++) {
        CUdeviceptr pointer = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuMemAllocAsync)(&pointer, bytes, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
    }
    EXPECT_EQ(CALL(tenant.cuda, cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
    return graph;
}

CUgraphExec instantiate(const CudaProgram& tenant, CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CALL(tenant.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
}

CUresult launch(const CudaProgram& tenant, CUgraphExec exec, CUstream stream = nullptr) {
    return CALL(tenant.cuda, cuGraphLaunch)(exec, stream);
}

CUresult wait(const CudaProgram& tenant) {
    return CALL(tenant.cuda, cuCtxSynchronize)();
}

TEST_F(GuardGraphs, CountFromTheLaunchUntilTheyAreTrimmed) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = instantiate(tenant, by_hand(tenant, 301 * kMiB, true).graph);
        expect_held(kContext);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
        expect_held(kContext + 302 * kMiB);
        EXPECT_EQ(tenant.free_bytes(), 622 * kMiB);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        expect_held(kContext + 302 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        expect_held(kContext);
    });
    container_.region().reap();
    expect_held(0);
}

TEST_F(GuardGraphs, AreRefusedBeforeTheyAreLaunched) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = instantiate(tenant, by_hand(tenant, 600 * kMiB, true).graph);
        EXPECT_EQ(tenant.allocate(400 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(launch(tenant, exec), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphUpload)(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 400 * kMiB);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphUpload_ptsz)(exec, nullptr), CUDA_SUCCESS);
        expect_held(kContext + 600 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphLaunch_ptsz)(exec, nullptr), CUDA_SUCCESS);
        expect_held(kContext + 600 * kMiB);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 2U);
}

TEST_F(GuardGraphs, EachWayToMakeAnExecutableIsSeen) {
    in_tenant([&](CudaProgram& tenant) {
        const gpusim::Library& cuda = tenant.cuda;
        CUgraph graph = by_hand(tenant, gpusim::kGiB, true).graph;
        CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
        CUgraphExec exec = nullptr;
        const auto expect_refused = [&](CUresult made) {
            EXPECT_EQ(made, CUDA_SUCCESS);
            EXPECT_EQ(launch(tenant, exec), CUDA_ERROR_OUT_OF_MEMORY);
            EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        };
        expect_refused(CALL(cuda, cuGraphInstantiate)(&exec, graph, nullptr, nullptr, 0));
        expect_refused(CALL(cuda, cuGraphInstantiate_v2)(&exec, graph, nullptr, nullptr, 0));
        expect_refused(CALL(cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0));
        expect_refused(CALL(cuda, cuGraphInstantiateWithParams)(&exec, graph, &params));
        expect_refused(CALL(cuda, cuGraphInstantiateWithParams_ptsz)(&exec, graph, &params));
        params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
        EXPECT_EQ(CALL(cuda, cuGraphInstantiateWithParams)(&exec, graph, &params),
                  CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(cuda, cuGraphInstantiateWithParams_ptsz)(&exec, graph, &params),
                  CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext);
    });
}

TEST_F(GuardGraphs, CapturedMemoryThatIsHadAgainCountsOnce) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = instantiate(tenant, by_capture(tenant, 500 * kMiB, 8));
        expect_held(kContext);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS) << "4000 MiB in all, 500 at once";
        expect_held(kContext + 500 * kMiB);
    });
}

TEST_F(GuardGraphs, ALaunchAgainNeedsNoRoom) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = instantiate(tenant, by_capture(tenant, 600 * kMiB, 1));
        for (int i = 0; i < 5; i++) {
            EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
            expect_held(kContext + 600 * kMiB);
        }
        EXPECT_EQ(tenant.allocate(324 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
        expect_held(gpusim::kGiB);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(500 * kMiB), CUDA_SUCCESS);
        EXPECT_EQ(launch(tenant, exec), CUDA_ERROR_OUT_OF_MEMORY) << "others have it now";
        expect_held(kContext + 824 * kMiB);
    });
}

TEST_F(GuardGraphs, AreTrimmedBeforeOthersAreRefused) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = instantiate(tenant, by_capture(tenant, 600 * kMiB, 1));
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        EXPECT_EQ(tenant.allocate(900 * kMiB), CUDA_SUCCESS);
        expect_held(kContext + 900 * kMiB);
        EXPECT_EQ(launch(tenant, exec), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(tenant.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
    });
}

TEST_F(GuardGraphs, WhatLivesOnCountsUntilItIsFreedAndTrimmed) {
    in_tenant([&](CudaProgram& tenant) {
        const Graph graph = by_hand(tenant, 200 * kMiB, false);
        CUgraphExec exec = instantiate(tenant, graph.graph);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
        EXPECT_EQ(tenant.allocate(800 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(CALL(tenant.cuda, cuMemFreeAsync)(graph.pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(wait(tenant), CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
        EXPECT_EQ(tenant.allocate(800 * kMiB), CUDA_SUCCESS) << "it is trimmed";
        expect_held(kContext + 800 * kMiB);
    });
}

TEST_F(GuardGraphs, OfAnotherGpuAreRefused) {
    in_tenant([&](CudaProgram& tenant) {
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuGraphInstantiateWithFlags)(
                      &exec, by_hand(tenant, kMiB, true, 1).graph, 0),
                  CUDA_ERROR_OPERATING_SYSTEM)
            << "the container has no share of it";
    });
}

TEST_F(GuardGraphs, EndWithTheContext) {
    in_tenant([&](CudaProgram& tenant) {
        CUcontext second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
        CUgraphExec exec = instantiate(tenant, by_hand(tenant, 200 * kMiB, false).graph);
        EXPECT_EQ(launch(tenant, exec), CUDA_SUCCESS);
        expect_held(2 * kContext + 200 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(second), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

}  // namespace
}  // namespace tessera::guard
