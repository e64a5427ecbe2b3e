// cuGraph*: built by hand, copied, launched. capture.cpp builds them from streams.
#include "gpusim/cuda/graphs/graph.hpp"

#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/graphs/graph_memory.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/module.hpp"

using gpusim::Graph;
using gpusim::Node;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Stream;

namespace gpusim {
namespace {

constexpr std::uint32_t kGraphMark = 0x47524150;
constexpr std::uint32_t kExecMark = 0x45584543;

template <typename Handle>
Graph* find(Handle handle, std::uint32_t mark) {
    auto* graph = reinterpret_cast<Graph*>(handle);
    return graph != nullptr && graph->mark == mark ? graph : nullptr;
}

// The node at the same place in a copy of a graph.
Node* counterpart(const Graph& from, const Graph& to, const Node* node) {
    Node* there = to.first;
    for (const Node* here = from.first; here != nullptr && there != nullptr; here = here->next) {
        if (here == node) return there;
        there = there->next;
    }
    return nullptr;
}

CUresult clone_node(const Graph& from, const Node& node, Graph& to) {
    Node* made = make_node(node.type);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->pattern = node.pattern;
    made->memory = node.memory;
    if (made->memory != nullptr) made->memory->references++;
    if (node.child != nullptr) {
        if (const CUresult error = clone_graph(*node.child, &made->child); error != CUDA_SUCCESS) {
            std::free(made);
            return error;
        }
    }
    const auto count = static_cast<std::size_t>(node.after_count);
    auto** after = static_cast<Node**>(std::calloc(count + 1, sizeof(Node*)));
    if (after == nullptr) {
        std::free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (std::size_t i = 0; i < count; i++)
        after[i] = counterpart(from, to, node.after[i]);
    const CUresult result = add_node(to, made, after, count);
    std::free(static_cast<void*>(after));
    return result;
}

CUresult enqueue_node(Stream& stream, const Node& node);

CUresult enqueue_all(Stream& stream, const Graph& graph) {
    for (const Node* node = graph.first; node != nullptr; node = node->next) {
        if (const CUresult error = enqueue_node(stream, *node); error != CUDA_SUCCESS) return error;
    }
    return CUDA_SUCCESS;
}

CUresult enqueue_node(Stream& stream, const Node& node) {
    if (node.child != nullptr) return enqueue_all(stream, *node.child);
    if (node.type == CU_GRAPH_NODE_TYPE_EMPTY || node.memory != nullptr) return CUDA_SUCCESS;
    Operation* operation = make_operation(node.pattern.place);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *operation = node.pattern;
    operation->references = 1;
    operation->id.gpu = stream.context->gpu;
    return enqueue(stream, operation);
}

// Takes what the driver needs to launch the executable. Takes nothing if no context is current.
CUresult take_overhead(Graph& exec) {
    Context* context = nullptr;
    if (current_context(&context) != CUDA_SUCCESS) return CUDA_SUCCESS;
    const std::uint64_t bytes = gpu_of(*context).graph_overhead_bytes;
    const std::uint64_t whole =
        (bytes + kAllocationUnitBytes - 1) / kAllocationUnitBytes * kAllocationUnitBytes;
    const CUresult result = charge(context->gpu, whole, 0);
    if (result != CUDA_SUCCESS) return result;
    exec.overhead_gpu = context->gpu;
    exec.overhead_bytes = whole;
    return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* handle, CUgraph graph_handle, cuuint64_t flags) {
    Graph* graph = find(graph_handle, kGraphMark);
    if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (graph->exec != nullptr && graph->exec->mark == kExecMark) return CUDA_ERROR_NOT_SUPPORTED;
    Graph* made = nullptr;
    if (const CUresult error = clone_graph(*graph, &made); error != CUDA_SUCCESS) return error;
    made->mark = kExecMark;
    if (const CUresult error = take_overhead(*made); error != CUDA_SUCCESS) {
        free_graph(made);
        return error;
    }
    if (has_memory(*made)) {
        made->frees_itself = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
        graph->exec = made;
        enter(*made);
    }
    *handle = reinterpret_cast<CUgraphExec>(made);
    return CUDA_SUCCESS;
}

CUresult launch(Graph& exec, Stream& stream) {
    if (!has_memory(exec)) return enqueue_all(stream, exec);
    CUresult result = check_launch(exec);
    if (result == CUDA_SUCCESS) result = back(exec);
    if (result == CUDA_SUCCESS) result = enqueue_all(stream, exec);
    return result == CUDA_SUCCESS ? note_launch(exec, stream) : result;
}

}  // namespace

CUresult add(CUgraphNode* handle, CUgraph graph_handle, const CUgraphNode* dependencies,
             std::size_t count, Node* node) {
    Graph* graph = find(graph_handle, kGraphMark);
    if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    if (graph == nullptr || handle == nullptr || (count > 0 && dependencies == nullptr))
        result = CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        const auto* after = reinterpret_cast<const Node*>(dependencies[i]);
        if (counterpart(*graph, *graph, after) == nullptr) result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) {
        free_node(node);
        return result;
    }
    result = add_node(*graph, node, reinterpret_cast<Node* const*>(dependencies), count);
    if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUgraphNode>(node);
    return result;
}

Graph* find_graph(CUgraph handle) {
    return find(handle, kGraphMark);
}

CUgraph handle_of(Graph* graph) {
    return reinterpret_cast<CUgraph>(graph);
}

Graph* make_graph() {
    auto* made = static_cast<Graph*>(std::calloc(1, sizeof(Graph)));
    if (made != nullptr) made->mark = kGraphMark;
    return made;
}

void free_graph(Graph* graph) {
    while (graph->first != nullptr) {
        Node* node = graph->first;
        graph->first = node->next;
        free_node(node);
    }
    graph->last = nullptr;
    graph->mark = 0;
}

void free_node(Node* node) {
    if (node->child != nullptr) free_graph(node->child);
    if (node->memory != nullptr) drop(*node->memory);
    std::free(static_cast<void*>(node->after));
    std::free(node);
}

Node* make_node(CUgraphNodeType type) {
    auto* made = static_cast<Node*>(std::calloc(1, sizeof(Node)));
    if (made != nullptr) made->type = type;
    return made;
}

CUresult add_node(Graph& graph, Node* node, Node* const* after, std::size_t after_count) {
    (graph.last != nullptr ? graph.last->next : graph.first) = node;
    graph.last = node;
    if (after_count == 0) return CUDA_SUCCESS;
    node->after = static_cast<Node**>(std::calloc(after_count, sizeof(Node*)));
    if (node->after == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    for (std::size_t i = 0; i < after_count; i++)
        node->after[node->after_count++] = after[i];
    return CUDA_SUCCESS;
}

CUresult clone_graph(const Graph& from, Graph** clone) {
    Graph* made = make_graph();
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    for (const Node* node = from.first; node != nullptr; node = node->next) {
        if (const CUresult error = clone_node(from, *node, *made); error != CUDA_SUCCESS) {
            free_graph(made);
            return error;  // NOLINT(clang-analyzer-unix.Malloc): it stays, for stale handles
        }
    }
    *clone = made;
    return CUDA_SUCCESS;
}

}  // namespace gpusim

CUresult cuGraphCreate(CUgraph* handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Graph* graph = gpusim::make_graph();
    if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = gpusim::handle_of(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Graph* graph = gpusim::find(handle, gpusim::kGraphMark);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    gpusim::free_graph(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* handle, CUgraph original) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Graph* from = gpusim::find(original, gpusim::kGraphMark);
    if (handle == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (gpusim::has_memory(*from)) return CUDA_ERROR_NOT_SUPPORTED;
    Graph* made = nullptr;
    if (const CUresult error = gpusim::clone_graph(*from, &made); error != CUDA_SUCCESS) {
        return error;
    }
    *handle = gpusim::handle_of(made);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_KERNEL_NODE_PARAMS_v1& node = *parameters;
    const gpusim::Launch launch = {
        .function = node.func,
        .grid = {node.gridDimX, node.gridDimY, node.gridDimZ},
        .block = {node.blockDimX, node.blockDimY, node.blockDimZ},
        .parameters = node.kernelParams,
        .extra = node.extra,
    };
    Operation* operation = nullptr;
    if (const CUresult error = gpusim::operation_of(launch, &operation); error != CUDA_SUCCESS) {
        return error;
    }
    return gpusim::add(handle, graph, dependencies, count,
                       gpusim::node_of(CU_GRAPH_NODE_TYPE_KERNEL, operation));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* handle, CUgraph graph,
                                 const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v1 of_function = {parameters->func,         parameters->gridDimX,
                                              parameters->gridDimY,     parameters->gridDimZ,
                                              parameters->blockDimX,    parameters->blockDimY,
                                              parameters->blockDimZ,    parameters->sharedMemBytes,
                                              parameters->kernelParams, parameters->extra};
    if (of_function.func == nullptr) {
        const CUresult error = cuKernelGetFunction(&of_function.func, parameters->kern);
        if (error != CUDA_SUCCESS) return error;
    }
    return cuGraphAddKernelNode(handle, graph, dependencies, count, &of_function);
}

CUresult cuGraphAddHostNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS_v1* parameters) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (parameters == nullptr || parameters->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return gpusim::add(handle, graph, dependencies, count,
                       gpusim::host_node(parameters->fn, parameters->userData));
}

CUresult cuGraphAddEmptyNode(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::add(handle, graph, dependencies, count,
                       gpusim::make_node(CU_GRAPH_NODE_TYPE_EMPTY));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* handle, CUgraph graph,
                                  const CUgraphNode* dependencies, size_t count, CUgraph child) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Graph* original = gpusim::find(child, gpusim::kGraphMark);
    if (original == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (gpusim::has_memory(*original)) return CUDA_ERROR_NOT_SUPPORTED;
    Node* node = gpusim::make_node(CU_GRAPH_NODE_TYPE_GRAPH);
    if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult error = gpusim::clone_graph(*original, &node->child);
        error != CUDA_SUCCESS) {
        std::free(node);
        return error;
    }
    return gpusim::add(handle, graph, dependencies, count, node);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Graph* graph = gpusim::find(handle, gpusim::kGraphMark);
    if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::size_t found = 0;
    for (Node* node = graph->first; node != nullptr; node = node->next, found++) {
        if (nodes != nullptr && found < *count) nodes[found] = reinterpret_cast<CUgraphNode>(node);
    }
    for (std::size_t i = found; nodes != nullptr && i < *count; i++)
        nodes[i] = nullptr;
    if (nodes == nullptr || found < *count) *count = found;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = reinterpret_cast<const Node*>(node)->type;
    return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* graph) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const auto* node = reinterpret_cast<const Node*>(handle);
    if (node == nullptr || node->child == nullptr || graph == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *graph = gpusim::handle_of(node->child);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                            char* /*log*/, size_t /*log_bytes*/) {
    if (error_node != nullptr) *error_node = nullptr;
    return cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
    return cuGraphInstantiate(exec, graph, error_node, log, log_bytes);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuGraphInstantiateWithFlags(exec, graph, parameters->flags);
    const bool is_uploaded = (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
    if (result == CUDA_SUCCESS && is_uploaded) {
        result = cuGraphUpload(*exec, parameters->hUploadStream);
        if (result != CUDA_SUCCESS) cuGraphExecDestroy(*exec);
    }
    parameters->hErrNode_out = nullptr;
    parameters->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Graph* exec = gpusim::find(handle, gpusim::kExecMark);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    gpusim::leave(*exec);
    gpusim::discharge(exec->overhead_gpu, exec->overhead_bytes, 0);
    gpusim::free_graph(exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(stream_handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    Graph* exec = gpusim::find(handle, gpusim::kExecMark);
    return exec != nullptr ? gpusim::back(*exec) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(stream_handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    Graph* exec = gpusim::find(handle, gpusim::kExecMark);
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture == nullptr) return gpusim::launch(*exec, *stream);
    if (gpusim::has_memory(*exec))
        return gpusim::spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    Node* node = gpusim::make_node(CU_GRAPH_NODE_TYPE_GRAPH);
    if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult error = gpusim::clone_graph(*exec, &node->child); error != CUDA_SUCCESS) {
        std::free(node);
        return error;
    }
    return gpusim::record(*stream, node);
}
