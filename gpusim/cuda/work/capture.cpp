// cuStreamBeginCapture and the calls around it.
#include "gpusim/cuda/work/capture.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

using gpusim::Capture;
using gpusim::Graph;
using gpusim::Node;
using gpusim::Session;
using gpusim::Stream;

namespace {

thread_local constinit CUstreamCaptureMode thread_mode __attribute__((tls_model("initial-exec"))) =
    CU_STREAM_CAPTURE_MODE_GLOBAL;

constinit Capture* captures = nullptr;

pid_t this_thread() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

bool is_among(const Node* node, Node* const* nodes, int count) {
    for (int i = 0; i < count; i++) {
        if (nodes[i] == node || is_among(node, nodes[i]->after, nodes[i]->after_count)) return true;
    }
    return false;
}

bool add_tail(Stream& stream, Node* node) {
    if (node == nullptr) return true;
    const auto count = static_cast<std::size_t>(stream.tail_count);
    auto** tails = static_cast<Node**>(
        std::realloc(static_cast<void*>(stream.tails), (count + 1) * sizeof(Node*)));
    if (tails == nullptr) return false;
    stream.tails = tails;
    stream.tails[stream.tail_count++] = node;
    return true;
}

// Whether everything that other streams recorded comes before the end of the first stream.
bool are_all_joined(const Capture& capture) {
    const Stream& origin = *capture.origin;
    for (const Stream* stream = origin.context->streams; stream != nullptr; stream = stream->next) {
        if (stream == &origin || stream->capture != &capture) continue;
        for (int i = 0; i < stream->tail_count; i++)
            if (!is_among(stream->tails[i], origin.tails, origin.tail_count)) return false;
    }
    return true;
}

void end(Capture& capture) {
    capture.is_over = true;
    for (Stream* stream = capture.origin->context->streams; stream != nullptr;) {
        Stream* next = stream->next;
        if (stream->capture == &capture) gpusim::leave_capture(*stream);
        stream = next;
    }
}

// The program's own graph, and the nodes that the recorded work comes after; null: a new graph.
struct Place {
    CUgraph graph;
    const CUgraphNode* after;
    std::size_t count;
};

bool is_of(const Graph& graph, const Node* node) {
    for (const Node* each = graph.first; each != nullptr; each = each->next)
        if (each == node) return true;
    return false;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, const Place& place) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->is_default && stream->thread == 0) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    const bool is_programs = place.graph != nullptr;
    Graph* graph = is_programs ? gpusim::find_graph(place.graph) : gpusim::make_graph();
    if (graph == nullptr) return is_programs ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    for (std::size_t i = 0; i < place.count; i++) {
        if (!is_of(*graph, reinterpret_cast<Node*>(place.after[i])))
            return CUDA_ERROR_INVALID_VALUE;
    }
    auto* capture = static_cast<Capture*>(std::calloc(1, sizeof(Capture)));
    if (capture == nullptr) {
        if (!is_programs) std::free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *capture = {graph, is_programs, stream, mode, this_thread(), false, false, captures};
    captures = capture;
    stream->capture = capture;
    for (std::size_t i = 0; i < place.count; i++)
        if (!add_tail(*stream, reinterpret_cast<Node*>(place.after[i]))) capture->is_spoiled = true;
    return CUDA_SUCCESS;
}

bool forbids(const Capture& capture, pid_t thread, CUstreamCaptureMode mode) {
    if (capture.is_over || mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    if (capture.thread == thread) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

namespace gpusim {

Node* node_of(CUgraphNodeType type, Operation* operation) {
    Node* node = make_node(type);
    if (node != nullptr) node->pattern = *operation;
    release(operation);
    return node;
}

Node* host_node(CUhostFn function, void* data) {
    Node* node = make_node(CU_GRAPH_NODE_TYPE_HOST);
    if (node == nullptr) return nullptr;
    node->pattern.place = Operation::Place::host;
    node->pattern.host_function = function;
    node->pattern.data = data;
    return node;
}

CUresult spoil(Stream& stream, CUresult error) {
    stream.capture->is_spoiled = true;
    return error;
}

void leave_capture(Stream& stream) {
    stream.capture = nullptr;
    std::free(static_cast<void*>(stream.tails));
    stream.tails = nullptr;
    stream.tail_count = 0;
}

CUresult record(Stream& stream, Node* node) {
    if (node == nullptr) return spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
    const auto count = static_cast<std::size_t>(stream.tail_count);
    const CUresult result = add_node(*stream.capture->graph, node, stream.tails, count);
    if (stream.capture->is_spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream.tail_count = 0;
    if (result != CUDA_SUCCESS || !add_tail(stream, node))
        return spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
    return CUDA_SUCCESS;
}

// If an event comes after several nodes, an empty node joins them.
CUresult record_event(Stream& stream, StreamEvent& event) {
    if (stream.tail_count > 1) {
        const CUresult joined = record(stream, make_node(CU_GRAPH_NODE_TYPE_EMPTY));
        if (joined != CUDA_SUCCESS) return joined;
    }
    event.capture = stream.capture;
    event.node = stream.tail_count == 1 ? stream.tails[0] : nullptr;
    return CUDA_SUCCESS;
}

CUresult wait_in_capture(Stream& stream, const StreamEvent& event) {
    if (event.capture == nullptr) return spoil(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (event.capture->is_over) return CUDA_ERROR_CAPTURED_EVENT;
    if (stream.capture == nullptr) {
        if (stream.is_default && stream.thread == 0) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        stream.capture = event.capture;
    }
    if (stream.capture != event.capture) return spoil(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    return add_tail(stream, event.node) ? CUDA_SUCCESS : spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
}

// With driver 580.159.04, an event of an invalid capture gives CUDA_ERROR_INVALID_VALUE after the
// end of that capture. That the event of a valid one then gives CUDA_ERROR_CAPTURED_EVENT is from
// the documentation.
CUresult state_of_captured(Capture& capture) {
    if (capture.is_over && capture.is_spoiled) return CUDA_ERROR_INVALID_VALUE;
    if (!capture.is_over) capture.is_spoiled = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult check_unsafe_call() {
    bool is_forbidden = false;
    for (Capture* capture = captures; capture != nullptr; capture = capture->next) {
        if (!forbids(*capture, this_thread(), thread_mode)) continue;
        capture->is_spoiled = true;
        is_forbidden = true;
    }
    return is_forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

Stream* recorded_in_the_way_of(const Stream& stream) {
    if (!stream.is_default || stream.thread != 0) return nullptr;
    for (Stream* other = stream.context->streams; other != nullptr; other = other->next) {
        if (other->capture != nullptr && (other->flags & CU_STREAM_NON_BLOCKING) == 0) return other;
    }
    return nullptr;
}

}  // namespace gpusim

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return begin(stream, mode, {nullptr, nullptr, 0});
}

CUresult cuStreamBeginCapture(CUstream stream) {
    return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, {nullptr, nullptr, 0});
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t dependency_count, CUstreamCaptureMode mode) {
    if (edges != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    if (graph == nullptr || (dependencies == nullptr && dependency_count > 0))
        return CUDA_ERROR_INVALID_VALUE;
    return begin(stream, mode, {graph, dependencies, dependency_count});
}

// What is captured is added to the graph, and not compared with its nodes.
CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                                       CUgraphRecaptureCallback /*callback*/, void* /*data*/) {
    return cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, mode);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *graph = nullptr;
    Capture* capture = stream->capture;
    if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = CUDA_SUCCESS;
    if (capture->is_spoiled) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (!are_all_joined(*capture)) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        capture->is_spoiled = true;
    }
    end(*capture);
    if (result == CUDA_SUCCESS) {
        *graph = gpusim::handle_of(capture->graph);
    } else if (!capture->is_programs) {
        gpusim::free_graph(capture->graph);
    }
    capture->graph = nullptr;
    return result;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (gpusim::recorded_in_the_way_of(*stream) != nullptr)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream->capture == nullptr) {
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
    } else {
        *status = stream->capture->is_spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    const CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
