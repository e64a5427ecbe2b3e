// cuGraphAddMem*Node, and the calls that return a node's parameters.
#include "gpusim/cuda/graphs/graph_memory.hpp"

using gpusim::Graph;
using gpusim::GraphAllocation;
using gpusim::Node;
using gpusim::Session;

namespace gpusim {

namespace {

// Memory of that size that the graph has already freed, in the order of its nodes.
GraphAllocation* find_freed(const Graph& graph, CUdevice device, std::size_t bytes) {
    for (const Node* node = graph.first; node != nullptr; node = node->next) {
        GraphAllocation* freed = node->memory;
        if (freed != nullptr && freed->has_free_within && freed->device == device &&
            freed->extent >= bytes) {
            return freed;
        }
    }
    return nullptr;
}

}  // namespace

CUresult make_allocation_node(const Graph& graph, CUdevice device, std::size_t bytes, Node** node) {
    GraphAllocation* allocation = find_freed(graph, device, bytes);
    if (allocation == nullptr) {
        const CUresult result = make_graph_allocation(device, bytes, &allocation);
        if (result != CUDA_SUCCESS) return result;
    }
    allocation->references++;
    *node = make_node(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (*node == nullptr) {
        drop(*allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->has_free_within = false;
    allocation->bytes = bytes;
    (*node)->memory = allocation;
    (*node)->pattern.bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult make_free_node(const Graph& graph, CUdeviceptr pointer, Node** node) {
    GraphAllocation* allocation = find_graph_allocation(pointer);
    if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (allocation->has_free_within || allocation->has_free_beyond) return CUDA_ERROR_INVALID_VALUE;
    bool is_within = false;
    for (const Node* each = graph.first; each != nullptr; each = each->next)
        is_within |= each->memory == allocation;
    *node = make_node(CU_GRAPH_NODE_TYPE_MEM_FREE);
    if (*node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    (is_within ? allocation->has_free_within : allocation->has_free_beyond) = true;
    allocation->references++;
    (*node)->memory = allocation;
    return CUDA_SUCCESS;
}

}  // namespace gpusim

namespace {

struct Place {
    CUgraph graph;
    const CUgraphNode* dependencies;
    std::size_t count;
};

CUresult add_allocation(CUgraphNode* handle, const Place& place,
                        CUDA_MEM_ALLOC_NODE_PARAMS_v1* wanted) {
    if (wanted == nullptr || wanted->bytesize == 0 ||
        wanted->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        wanted->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUmemLocation& location = wanted->poolProps.location;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!gpusim::is_device(location.id)) return CUDA_ERROR_INVALID_VALUE;
    const Graph* graph = gpusim::find_graph(place.graph);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Node* node = nullptr;
    CUresult result = gpusim::make_allocation_node(*graph, location.id, wanted->bytesize, &node);
    if (result != CUDA_SUCCESS) return result;
    const CUdeviceptr base = node->memory->base;
    result = gpusim::add(handle, place.graph, place.dependencies, place.count, node);
    if (result == CUDA_SUCCESS) wanted->dptr = base;
    return result;
}

CUresult add_free(CUgraphNode* handle, const Place& place, CUdeviceptr pointer) {
    const Graph* graph = gpusim::find_graph(place.graph);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Node* node = nullptr;
    const CUresult result = gpusim::make_free_node(*graph, pointer, &node);
    if (result != CUDA_SUCCESS) return result;
    return gpusim::add(handle, place.graph, place.dependencies, place.count, node);
}

// Other types have calls of their own, and only those are modelled.
CUresult add_any(CUgraphNode* handle, const Place& place, CUgraphNodeParams* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (parameters->type) {
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            return add_allocation(handle, place, &parameters->of.alloc);
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return add_free(handle, place, parameters->of.free.dptr);
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return gpusim::add(handle, place.graph, place.dependencies, place.count,
                               gpusim::make_node(CU_GRAPH_NODE_TYPE_EMPTY));
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

const Node* find_node(CUgraphNode handle, CUgraphNodeType type) {
    const auto* node = reinterpret_cast<const Node*>(handle);
    return node != nullptr && node->type == type ? node : nullptr;
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS_v1* parameters) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return add_allocation(handle, {graph, dependencies, count}, parameters);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return add_free(handle, {graph, dependencies, count}, pointer);
}

CUresult cuGraphAddNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* parameters) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return add_any(handle, {graph, dependencies, count}, parameters);
}

CUresult cuGraphAddNode_v2(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count,
                           CUgraphNodeParams* parameters) {
    if (edges != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return cuGraphAddNode(handle, graph, dependencies, count, parameters);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle,
                                      CUDA_MEM_ALLOC_NODE_PARAMS_v1* parameters) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Node* node = find_node(handle, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    if (node == nullptr || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *parameters = {};
    parameters->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters->poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, node->memory->device};
    parameters->bytesize = node->pattern.bytes;
    parameters->dptr = node->memory->base;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Node* node = find_node(handle, CU_GRAPH_NODE_TYPE_MEM_FREE);
    if (node == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pointer = node->memory->base;
    return CUDA_SUCCESS;
}
