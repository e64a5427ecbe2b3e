// Events: points in streams that may be waited for, and when they were reached.
#pragma once

#include "gpusim/cuda/work/work.hpp"

namespace gpusim {

struct Node;

// A CUevent points to one. Never freed, so that a stale handle is recognised.
struct StreamEvent {
    std::uint32_t mark;  // an StreamEvent's, while it is one
    unsigned flags;
    Context* context;
    Operation* recorded;  // null before it was
    Capture* capture;     // it was last recorded in a stream that is being recorded
    Node* node;           // behind that node of it; null: at its beginning
};

// Null for what is no event. Wants a Session.
StreamEvent* find_event(CUevent handle);

}  // namespace gpusim
