// Executable graphs: launched when it is the container's turn, and where they allocate, when there
// is room for it (process/graphs.hpp). Which of them do is found when they are made: by hand or by
// capture, a graph's nodes say it.
#include "guard/process/graphs.hpp"

#include "guard/hooks/take.hpp"
#include "guard/hooks/work.hpp"
#include "guard/process/driver_memory.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

void destroy(CUgraphExec exec) {
    driver()->cuGraphExecDestroy(exec);
}

// Makes it, and says what the driver takes for it by itself: the least of `wanted` readings during
// which the account stood still, as one may be what another process took at that moment. It is made
// again for each. 0 as soon as one finds nothing, and where the account never stands still: then
// the comparison with NVML finds it.
template <typename Make>
CUresult make_measured_graph(int card, CUgraphExec* exec, const Make& make, int wanted,
                             std::uint64_t& missing) {
    constexpr int kTries = 6;
    int certain = 0;
    missing = 0;
    for (int tried = 1;; tried++) {
        Measured measured = {};
        const CUresult result = measure(card, make, measured);
        if (result != CUDA_SUCCESS) return result;
        // A granule more or less may be one that other small allocations are in.
        if (measured.missing <= kGranuleBytes) {
            missing = 0;
            return result;
        }
        if (measured.is_certain) {
            missing = certain == 0 || measured.missing < missing ? measured.missing : missing;
            certain++;
        }
        if (certain == wanted || tried == kTries) return result;
        destroy(*exec);
    }
}

// Notes what the driver takes for it, until it is destroyed. CUDA_ERROR_OUT_OF_MEMORY, and nothing
// noted, where the limit forbids that.
CUresult note_graph(const Current& current, CUgraphExec exec, std::uint64_t bytes) {
    if (const CUresult over = set_aside(current.card, bytes); over != CUDA_SUCCESS) return over;
    const auto address = reinterpret_cast<std::uint64_t>(exec);
    if (note(holding_at(address, current.context, bytes, current.card))) return CUDA_SUCCESS;
    put_back(current.card, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// Before it is refused it is looked at once more.
template <typename Make>
CUresult make_counted(CUgraphExec* exec, const Make& make) {
    Current current;
    if (find_current(current) != CUDA_SUCCESS) return make();
    CUresult over = CUDA_SUCCESS;
    for (const int wanted : {2, 1}) {
        std::uint64_t missing = 0;
        const CUresult result = make_measured_graph(current.card, exec, make, wanted, missing);
        if (result != CUDA_SUCCESS || missing == 0) return result;
        over = note_graph(current, *exec, missing);
        if (over == CUDA_SUCCESS) return over;
        destroy(*exec);
    }
    return over;
}

// `uploads`: the card gives up the memory of its nodes at once.
template <typename Make>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, bool uploads, const Make& make_bare) {
    GraphNeeds needs;
    if (exec == nullptr) return make_bare();
    const auto make = [&] { return uploads ? make_bare() : make_counted(exec, make_bare); };
    const CUresult found = find_needs(graph, needs);
    if (found == kNotGuarded || found == CUDA_ERROR_OUT_OF_MEMORY) return found;
    if (found != CUDA_SUCCESS || !is_any(needs)) return make();
    const GraphPromise promised(uploads ? needs : GraphNeeds{});
    if (promised.error() != CUDA_SUCCESS) return promised.error();
    const CUresult result = make();
    if (result != CUDA_SUCCESS || graphs().note(*exec, needs)) return result;
    give_held(reinterpret_cast<std::uint64_t>(*exec), [exec] {
        destroy(*exec);
        return CUDA_SUCCESS;
    });
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
    if (!real.is_held()) return real(exec);
    return give_held(reinterpret_cast<std::uint64_t>(exec), [&] {
        if (!have_graphs_memory()) return real(exec);
        const ExecutableGraph noted = graphs().take(exec);
        const CUresult result = real(exec);
        if (result != CUDA_SUCCESS && noted.handle != nullptr) graphs().put_back(noted);
        return result;
    });
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
