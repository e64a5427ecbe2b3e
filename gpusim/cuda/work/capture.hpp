// Streams that are being recorded into a graph instead of being run. All functions want a Session.
#pragma once

#include "gpusim/cuda/graphs/graph.hpp"
#include "gpusim/cuda/work/event.hpp"

namespace gpusim {

// Never freed: events remember it.
struct Capture {
    Graph* graph;
    bool is_programs;  // it was there before
    Stream* origin;
    CUstreamCaptureMode mode;
    pid_t thread;
    bool is_spoiled;
    bool is_over;
    Capture* next;
};

Node* host_node(CUhostFn function, void* data);
// What a launched operation would be, as a node; frees the operation.
Node* node_of(CUgraphNodeType type, Operation* operation);

// Adds the node to the graph, behind what the stream has recorded; null is "without memory".
CUresult record(Stream& stream, Node* node);
CUresult record_event(Stream& stream, StreamEvent& event);
// Where the event, the stream or both belong to a capture.
CUresult wait_in_capture(Stream& stream, const StreamEvent& event);
// The stream did what cannot be recorded: the capture is worth nothing. Gives `error` back.
CUresult spoil(Stream& stream, CUresult error);
void leave_capture(Stream& stream);
// Of calls that are not safe beside a capture: what they are to answer, if it is not CUDA_SUCCESS.
CUresult check_unsafe_call();
// A stream that the program's default stream would have to wait for, and cannot.
Stream* recorded_in_the_way_of(const Stream& stream);

}  // namespace gpusim
