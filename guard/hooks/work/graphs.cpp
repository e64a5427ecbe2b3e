// Executable graphs. They are launched when the container has a launch permit and, if they
// allocate, when there is room for that (process/graphs.hpp). Whether a graph allocates is found
// when it is instantiated: its nodes say so, whether it was built by hand or by capture.
#include "guard/process/graphs.hpp"

#include <initializer_list>

#include "guard/hooks/take.hpp"
#include "guard/hooks/work/work.hpp"
#include "guard/process/driver_memory.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

void destroy(CUgraphExec exec) {
    driver()->cuGraphExecDestroy(exec);
}

// Instantiates the graph, and measures what the driver itself takes for it. `missing` is the
// smallest of `wanted` readings during which the account did not move, because a reading may
// include what another process took at that moment. The graph is instantiated again for each
// reading. `missing` is 0 as soon as one reading finds nothing, and if the account always moves:
// then the comparison with NVML finds it.
template <typename Make>
CUresult make_measured_graph(int gpu, CUgraphExec* exec, const Make& make, int wanted,
                             std::uint64_t& missing) {
    constexpr int kTries = 6;
    int certain = 0;
    missing = 0;
    for (int tried = 1;; tried++) {
        Measured measured = {};
        const CUresult result = measure(gpu, make, measured);
        if (result != CUDA_SUCCESS) return result;
        // A difference of one allocation unit may be one that other small allocations share.
        if (measured.missing <= kAllocationUnitBytes) {
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

// Charges what the driver takes for the graph until the graph is destroyed.
// CUDA_ERROR_OUT_OF_MEMORY, with nothing recorded, if the limit does not allow it.
CUresult note_graph(const Current& current, CUgraphExec exec, std::uint64_t bytes) {
    if (const CUresult over = reserve(current.gpu, bytes); over != CUDA_SUCCESS) return over;
    const auto address = reinterpret_cast<std::uint64_t>(exec);
    if (record(holding_at(address, current.context, bytes, current.gpu))) return CUDA_SUCCESS;
    release(current.gpu, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// Measures once more before it refuses.
template <typename Make>
CUresult make_counted(CUgraphExec* exec, const Make& make) {
    Current current;
    if (find_current(current) != CUDA_SUCCESS) return make();
    CUresult over = CUDA_SUCCESS;
    for (const int wanted : {2, 1}) {
        std::uint64_t missing = 0;
        const CUresult result = make_measured_graph(current.gpu, exec, make, wanted, missing);
        if (result != CUDA_SUCCESS || missing == 0) return result;
        over = note_graph(current, *exec, missing);
        if (over == CUDA_SUCCESS) return over;
        destroy(*exec);
    }
    return over;
}

// `uploads`: the driver takes the memory of its nodes at once.
template <typename Make>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, bool uploads, const Make& make_bare) {
    GraphNeeds needs;
    if (exec == nullptr) return make_bare();
    const auto make = [&] { return uploads ? make_bare() : make_counted(exec, make_bare); };
    const CUresult found = find_needs(graph, needs);
    if (found == kNotGuarded || found == CUDA_ERROR_OUT_OF_MEMORY) return found;
    if (found != CUDA_SUCCESS || !is_any(needs)) return make();
    const GraphReservation reservation(uploads ? needs : GraphNeeds{});
    if (reservation.error() != CUDA_SUCCESS) return reservation.error();
    const CUresult result = make();
    if (result != CUDA_SUCCESS || graphs().record(*exec, needs)) return result;
    give_counted(reinterpret_cast<std::uint64_t>(*exec), [exec] {
        destroy(*exec);
        return CUDA_SUCCESS;
    });
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// `stream` is the stream of the call.
template <typename Call>
CUresult with_memory(CUgraphExec exec, CUstream stream, const Call& call) {
    const GraphReservation reservation(graphs().growth(exec, stream));
    if (reservation.error() != CUDA_SUCCESS) return reservation.error();
    const CUresult result = call();
    if (result == CUDA_SUCCESS) graphs().note_launch(exec, stream);
    return result;
}

template <typename Function>
CUresult launch(Function Driver::* slot, CUstream stream, CUgraphExec exec, CUstream argument) {
    const auto give = [&] {
        return enqueue_with_permit(slot, WorkKind::kernels, stream, exec, argument);
    };
    if (!have_graphs_memory() || InDriver::is_now()) return give();
    const Entered real(slot);
    return real.must_enforce() ? with_memory(exec, stream, give) : give();
}

template <typename Function>
CUresult upload(Function Driver::* slot, CUstream stream, CUgraphExec exec, CUstream argument) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(exec, argument);
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
    if (!real.must_enforce()) return real(exec, graph, error_node, log, log_bytes);
    return instantiate(exec, graph, false,
                       [&] { return real(exec, graph, error_node, log, log_bytes); });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
    const Entered real(&Driver::cuGraphInstantiate_v2);
    if (!real.must_enforce()) return real(exec, graph, error_node, log, log_bytes);
    return instantiate(exec, graph, false,
                       [&] { return real(exec, graph, error_node, log, log_bytes); });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    const Entered real(&Driver::cuGraphInstantiateWithFlags);
    if (!real.must_enforce()) return real(exec, graph, flags);
    return instantiate(exec, graph, false, [&] { return real(exec, graph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    const Entered real(&Driver::cuGraphInstantiateWithParams);
    if (!real.must_enforce()) return real(exec, graph, parameters);
    return instantiate(exec, graph, uploads(parameters),
                       [&] { return real(exec, graph, parameters); });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    const Entered real(&Driver::cuGraphInstantiateWithParams_ptsz);
    if (!real.must_enforce()) return real(exec, graph, parameters);
    return instantiate(exec, graph, uploads(parameters),
                       [&] { return real(exec, graph, parameters); });
}

// The handle may be used again as soon as it is destroyed.
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    const Entered real(&Driver::cuGraphExecDestroy);
    if (!real.must_enforce()) return real(exec);
    return give_counted(reinterpret_cast<std::uint64_t>(exec), [&] {
        if (!have_graphs_memory()) return real(exec);
        const ExecutableGraph noted = graphs().take(exec);
        const CUresult result = real(exec);
        if (result != CUDA_SUCCESS && noted.handle != nullptr) graphs().release(noted);
        return result;
    });
}

// Other processes of the container may use at once what this releases.
CUresult cuDeviceGraphMemTrim(CUdevice device) {
    const Entered real(&Driver::cuDeviceGraphMemTrim);
    if (!real.must_enforce()) return real(device);
    const CUresult result = real(device);
    const int gpu = gpu_of(device);
    if (gpu >= 0) note_trimmed(graph_pool(gpu));
    return result;
}
