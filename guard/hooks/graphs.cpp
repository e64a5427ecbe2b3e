// Executable graphs: launched when it is the container's turn, and where they allocate, when there
// is room for it (process/graphs.hpp). Which of them do is found when they are made: by hand or by
// capture, a graph's nodes say it.
#include "guard/process/graphs.hpp"

#include "guard/hooks/work.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

// `uploads`: the card gives up the memory at once.
template <typename Make>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, bool uploads, const Make& make) {
    GraphNeeds needs;
    if (exec == nullptr) return make();
    const CUresult found = find_needs(graph, needs);
    if (found == kNotGuarded || found == CUDA_ERROR_OUT_OF_MEMORY) return found;
    if (found != CUDA_SUCCESS || !is_any(needs)) return make();
    const GraphPromise promised(uploads ? needs : GraphNeeds{});
    if (promised.error() != CUDA_SUCCESS) return promised.error();
    const CUresult result = make();
    if (result != CUDA_SUCCESS || graphs().note(*exec, needs)) return result;
    driver()->cuGraphExecDestroy(*exec);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// `stream` is that which the call works in.
template <typename Call>
CUresult with_memory(CUgraphExec exec, CUstream stream, const Call& call) {
    const GraphPromise promised(graphs().growth(exec, stream));
    if (promised.error() != CUDA_SUCCESS) return promised.error();
    const CUresult result = call();
    if (result == CUDA_SUCCESS) graphs().note_launch(exec, stream);
    return result;
}

template <typename Function>
CUresult launch(Function Driver::* slot, CUstream stream, CUgraphExec exec, CUstream argument) {
    const auto give = [&] { return give_work(slot, WorkKind::kernels, stream, exec, argument); };
    if (!have_graphs_memory() || InDriver::is_now()) return give();
    const Entered real(slot);
    return real.is_held() ? with_memory(exec, stream, give) : give();
}

template <typename Function>
CUresult upload(Function Driver::* slot, CUstream stream, CUgraphExec exec, CUstream argument) {
    const Entered real(slot);
    if (!real.is_held()) return real(exec, argument);
    return with_memory(exec, stream, [&] { return real(exec, argument); });
}

bool uploads(const CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    return parameters != nullptr && (parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
}

}  // namespace

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    return launch(&Driver::cuGraphLaunch, stream, exec, stream);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
    return launch(&Driver::cuGraphLaunch_ptsz, of_thread(stream), exec, stream);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    return upload(&Driver::cuGraphUpload, stream, exec, stream);
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
    return upload(&Driver::cuGraphUpload_ptsz, of_thread(stream), exec, stream);
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t log_bytes) {
    const Entered real(&Driver::cuGraphInstantiate);
    if (!real.is_held()) return real(exec, graph, error_node, log, log_bytes);
    return instantiate(exec, graph, false,
                       [&] { return real(exec, graph, error_node, log, log_bytes); });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
    const Entered real(&Driver::cuGraphInstantiate_v2);
    if (!real.is_held()) return real(exec, graph, error_node, log, log_bytes);
    return instantiate(exec, graph, false,
                       [&] { return real(exec, graph, error_node, log, log_bytes); });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    const Entered real(&Driver::cuGraphInstantiateWithFlags);
    if (!real.is_held()) return real(exec, graph, flags);
    return instantiate(exec, graph, false, [&] { return real(exec, graph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    const Entered real(&Driver::cuGraphInstantiateWithParams);
    if (!real.is_held()) return real(exec, graph, parameters);
    return instantiate(exec, graph, uploads(parameters),
                       [&] { return real(exec, graph, parameters); });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    const Entered real(&Driver::cuGraphInstantiateWithParams_ptsz);
    if (!real.is_held()) return real(exec, graph, parameters);
    return instantiate(exec, graph, uploads(parameters),
                       [&] { return real(exec, graph, parameters); });
}

// The handle may be another's as soon as it is destroyed.
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    const Entered real(&Driver::cuGraphExecDestroy);
    if (!real.is_held() || !have_graphs_memory()) return real(exec);
    const ExecutableGraph noted = graphs().take(exec);
    const CUresult result = real(exec);
    if (result != CUDA_SUCCESS && noted.handle != nullptr) graphs().put_back(noted);
    return result;
}

// Others of the container may have what it gives back at once.
CUresult cuDeviceGraphMemTrim(CUdevice device) {
    const Entered real(&Driver::cuDeviceGraphMemTrim);
    if (!real.is_held()) return real(device);
    const CUresult result = real(device);
    const int card = card_of(device);
    if (card >= 0) note_trimmed(graph_pool(card));
    return result;
}
