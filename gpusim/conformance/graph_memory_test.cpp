// Goal: what graphs allocate is taken from the GPU from their launch until it is trimmed. It can be
// freed as the documentation says.
#include <cstring>

#include "gpusim/test_support/conformance.hpp"

namespace gpusim {
namespace {

constexpr std::size_t kBytes = 64 * kMiB;

class ConformingGraphMemory : public Conformance {
  protected:
    template <class Body>
    void where_there_are_pools(Body body) const {
        in_worker([&](const Worker& worker) {
            if (supports(worker.cuda, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)) body(worker);
        });
    }
};

struct Graph {
    explicit Graph(const Library& library) : cuda(library) {
        EXPECT_EQ(CALL(cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
    }

    static CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted(std::size_t bytes) {
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters = {};
        parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        parameters.bytesize = bytes;
        return parameters;
    }
    // Each node depends on the one before it.
    CUdeviceptr allocate(std::size_t bytes) {
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 parameters = wanted(bytes);
        const CUgraphNode before = last;
        EXPECT_EQ(CALL(cuda, cuGraphAddMemAllocNode)(&last, graph, &before, before != nullptr,
                                                     &parameters),
                  CUDA_SUCCESS);
        return parameters.dptr;
    }
    CUresult free(CUdeviceptr pointer) {
        const CUgraphNode before = last;
        return CALL(cuda, cuGraphAddMemFreeNode)(&last, graph, &before, before != nullptr, pointer);
    }
    CUgraphExec instantiate(unsigned long long flags = 0) const {
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuda, cuGraphInstantiateWithFlags)(&exec, graph, flags), CUDA_SUCCESS);
        return exec;
    }

    const Library& cuda;
    CUgraph graph = nullptr;
    CUgraphNode last = nullptr;
};

std::uint64_t get(const Library& cuda, CUgraphMem_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(CALL(cuda, cuDeviceGetGraphMemAttribute)(0, attribute, &value), CUDA_SUCCESS);
    return value;
}

std::uint64_t reserved(const Library& cuda) {
    return get(cuda, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
}

void launch(const Worker& worker, CUgraphExec exec) {
    EXPECT_EQ(CALL(worker.cuda, cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(worker.cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
}

void expect_trimmed(const Library& cuda, std::uint64_t bytes) {
    EXPECT_EQ(CALL(cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    EXPECT_EQ(reserved(cuda), bytes);
}

TEST_F(ConformingGraphMemory, IsTheGpusFromTheLaunchUntilItIsTrimmed) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        Graph graph(cuda);
        const CUdeviceptr pointer = graph.allocate(kBytes);
        EXPECT_EQ(graph.free(pointer), CUDA_SUCCESS);
        const std::uint64_t before = taken(cuda);
        CUgraphExec exec = graph.instantiate();
        EXPECT_EQ(reserved(cuda), 0U) << "the stream is not known yet";
        launch(worker, exec);
        EXPECT_GE(reserved(cuda), kBytes);
        EXPECT_GE(taken(cuda), before + kBytes);
        const std::uint64_t once = reserved(cuda);
        launch(worker, exec);
        EXPECT_EQ(reserved(cuda), once);
        EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphDestroy)(graph.graph), CUDA_SUCCESS);
        EXPECT_EQ(reserved(cuda), once);
        expect_trimmed(cuda, 0);
        EXPECT_EQ(taken(cuda), before);
    });
}

TEST_F(ConformingGraphMemory, AnUploadReservesIt) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        Graph graph(cuda);
        EXPECT_EQ(graph.free(graph.allocate(kBytes)), CUDA_SUCCESS);
        CUgraphExec exec = graph.instantiate();
        EXPECT_EQ(CALL(cuda, cuGraphUpload)(exec, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        EXPECT_GE(reserved(cuda), kBytes);
        EXPECT_GE(get(cuda, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), kBytes);
        EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        expect_trimmed(cuda, 0);
        cuuint64_t zero = 0;
        EXPECT_EQ(
            CALL(cuda, cuDeviceSetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero),
            CUDA_SUCCESS);
        EXPECT_EQ(get(cuda, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0U);
    });
}

TEST_F(ConformingGraphMemory, IsRecordedByACapture) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        CUstream stream = worker.make_stream();
        CUdeviceptr pointer = 0;
        CUgraph graph = nullptr;
        std::uint32_t value = 0;
        EXPECT_EQ(CALL(cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemAllocAsync)(&pointer, kBytes, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemsetD32Async)(pointer, 7, 1, stream), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemcpyDtoHAsync_v2)(&value, pointer, sizeof value, stream),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, stream), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuStreamEndCapture)(stream, &graph), CUDA_SUCCESS);
        CUgraphNode nodes[4] = {};
        std::size_t count = 4;
        ASSERT_EQ(CALL(cuda, cuGraphGetNodes)(graph, nodes, &count), CUDA_SUCCESS);
        ASSERT_EQ(count, 4U);
        int allocations = 0;
        int frees = 0;
        for (CUgraphNode node : nodes) {
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
            EXPECT_EQ(CALL(cuda, cuGraphNodeGetType)(node, &type), CUDA_SUCCESS);
            CUDA_MEM_ALLOC_NODE_PARAMS_v1 made = {};
            CUdeviceptr freed = 0;
            if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
                allocations++;
                EXPECT_EQ(CALL(cuda, cuGraphMemAllocNodeGetParams)(node, &made), CUDA_SUCCESS);
                EXPECT_EQ(made.dptr, pointer);
                EXPECT_EQ(made.bytesize, kBytes);
            } else if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
                frees++;
                EXPECT_EQ(CALL(cuda, cuGraphMemFreeNodeGetParams)(node, &freed), CUDA_SUCCESS);
                EXPECT_EQ(freed, pointer);
            }
        }
        EXPECT_EQ(allocations, 1);
        EXPECT_EQ(frees, 1);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(value, 0U);
        launch(worker, exec);
        EXPECT_EQ(value, 7U);
        EXPECT_GE(reserved(cuda), kBytes);
    });
}

TEST_F(ConformingGraphMemory, LivesOnUntilItIsFreed) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        Graph graph(cuda);
        const CUdeviceptr pointer = graph.allocate(kBytes);
        CUgraphExec exec = graph.instantiate();
        launch(worker, exec);
        EXPECT_EQ(CALL(cuda, cuMemsetD8_v2)(pointer, 1, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphLaunch)(exec, nullptr), CUDA_ERROR_INVALID_VALUE)
            << "what the last launch allocated is there";
        EXPECT_EQ(CALL(cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_GE(reserved(cuda), kBytes);
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
        launch(worker, exec);
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
        expect_trimmed(cuda, 0);
        launch(worker, exec);
        EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
        EXPECT_GE(reserved(cuda), kBytes) << "it outlives its graph";
        EXPECT_EQ(CALL(cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        expect_trimmed(cuda, 0);
    });
}

TEST_F(ConformingGraphMemory, IsFreedByAnotherGraphOrByTheNextLaunch) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        Graph maker(cuda);
        Graph other(cuda);
        const CUdeviceptr pointer = maker.allocate(kBytes);
        EXPECT_EQ(other.free(pointer), CUDA_SUCCESS);
        EXPECT_EQ(maker.free(pointer), CUDA_ERROR_INVALID_VALUE) << "another does";
        CUgraphExec making = maker.instantiate();
        CUgraphExec freeing = other.instantiate();
        launch(worker, making);
        launch(worker, freeing);
        launch(worker, making);
        launch(worker, freeing);
        expect_trimmed(cuda, 0);
        Graph again(cuda);
        again.allocate(kBytes);
        CUgraphExec exec = again.instantiate(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        launch(worker, exec);
        launch(worker, exec);
        EXPECT_LT(reserved(cuda), 2 * kBytes);
    });
}

TEST_F(ConformingGraphMemory, HasItsRules) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        Graph graph(cuda);
        const CUdeviceptr pointer = graph.allocate(kBytes);
        EXPECT_EQ(graph.free(pointer), CUDA_SUCCESS);
        EXPECT_EQ(graph.free(pointer), CUDA_ERROR_INVALID_VALUE) << "twice";
        EXPECT_EQ(graph.free(12345), CUDA_ERROR_INVALID_VALUE);
        EXPECT_NE(CALL(cuda, cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS) << "the graph does";
        CUgraph clone = nullptr;
        EXPECT_NE(CALL(cuda, cuGraphClone)(&clone, graph.graph), CUDA_SUCCESS);
        CUgraphExec exec = graph.instantiate();
        CUgraphExec second = nullptr;
        EXPECT_NE(CALL(cuda, cuGraphInstantiateWithFlags)(&second, graph.graph, 0), CUDA_SUCCESS)
            << "one at a time";
        EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuGraphInstantiateWithFlags)(&second, graph.graph, 0), CUDA_SUCCESS);
        cuuint64_t value = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceGetGraphMemAttribute)(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
                                                           &value),
                  CUDA_ERROR_INVALID_DEVICE);
        EXPECT_EQ(CALL(cuda, cuDeviceGraphMemTrim)(99), CUDA_ERROR_INVALID_DEVICE);
    });
}

TEST_F(ConformingGraphMemory, IsAddedByTheCallForAnyNode) {
    where_there_are_pools([](const Worker& worker) {
        const Library& cuda = worker.cuda;
        if (!cuda.has("cuGraphAddNode")) return;
        Graph graph(cuda);
        CUgraphNodeParams node = {};
        node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
        node.of.alloc = Graph::wanted(kBytes);
        CUgraphNode first = nullptr;
        CUgraphNode second = nullptr;
        EXPECT_EQ(CALL(cuda, cuGraphAddNode)(&first, graph.graph, nullptr, 0, &node), CUDA_SUCCESS);
        const CUdeviceptr pointer = node.of.alloc.dptr;
        EXPECT_NE(pointer, 0U);
        CUgraphNodeParams free = {};
        free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
        free.of.free.dptr = pointer;
        EXPECT_EQ(CALL(cuda, cuGraphAddNode_v2)(&second, graph.graph, &first, nullptr, 1, &free),
                  CUDA_SUCCESS);
        launch(worker, graph.instantiate());
        EXPECT_GE(reserved(cuda), kBytes);
    });
}

}  // namespace
}  // namespace gpusim
