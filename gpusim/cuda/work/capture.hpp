// Streams that are being captured into a graph instead of being run. All functions require a
// Session.
#pragma once

#include "gpusim/cuda/graphs/graph.hpp"
#include "gpusim/cuda/work/event.hpp"

namespace gpusim {

// Never freed: events refer to it.
struct Capture {
    Graph* graph;
    bool is_programs;  // the graph existed before
    Stream* origin;
    CUstreamCaptureMode mode;
    pid_t thread;
    bool is_spoiled;
    bool is_over;
    Capture* next;
};

Node* host_node(CUhostFn function, void* data);
// Turns a launched operation into a node; frees the operation.
Node* node_of(CUgraphNodeType type, Operation* operation);

// Adds the node to the graph, after what the stream has recorded; null means that there was no
// memory.
CUresult record(Stream& stream, Node* node);
CUresult record_event(Stream& stream, StreamEvent& event);
// Call this if the event, the stream or both belong to a capture.
CUresult wait_in_capture(Stream& stream, const StreamEvent& event);
// The stream did what cannot be recorded, so the capture is invalid. Returns `error`.
CUresult spoil(Stream& stream, CUresult error);
void leave_capture(Stream& stream);
// The result of a call that asks for the state of an event of the capture. The call makes a capture
// that is not over invalid.
CUresult state_of_captured(Capture& capture);
// For calls that are unsafe during a capture: the error to return, or CUDA_SUCCESS.
CUresult check_unsafe_call();
// A captured stream that the program's default stream would have to wait for, and cannot.
Stream* recorded_in_the_way_of(const Stream& stream);

}  // namespace gpusim
