// Events: points in streams that may be waited for, and when they were reached.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Node;

// A CUevent points to one. Never freed, so that a stale handle is recognised.
struct StreamEvent {
    std::uint32_t mark;  // of a StreamEvent, while it is one
    unsigned flags;
    Context* context;
    Operation* recorded;  // null if it was never recorded
    Capture* capture;     // it was last recorded in a stream that is being captured
    Node* node;           // after that node of the capture; null: at its beginning
};

// Null if it is not an event. Requires a Session.
StreamEvent* find_event(CUevent handle);

}  // namespace gpusim
