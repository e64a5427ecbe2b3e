// The streams of this process that have had work. All functions want the mutex of timing().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/process/devices.hpp"

namespace tessera::guard {

// Null, per thread or legacy: not one stream but one of each context, or of each thread of it.
bool is_default(CUstream stream);
// Whose default stream it is; 0 with all others.
pthread_t thread_of(CUstream stream);

template <typename Body>
void for_each_stream(const Body& body) {
    Timing& all = timing();
    for (int i = 0; i < all.stream_count; i++)
        if (!all.streams[i].is_gone) body(all.streams[i]);
}

// Null where there is none.
StreamTiming* find_stream(CUstream stream, CUcontext context);
// What is asked in the thread's own context is of a stream of it.
StreamTiming* find_current_stream(CUstream stream);
// Null where there are kMaxStreams.
StreamTiming* find_or_add_stream(CUstream stream, const Current& current);

}  // namespace tessera::guard
