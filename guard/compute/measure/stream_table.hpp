// The streams of this process that have had work, for each GPU. All functions require the mutex of
// the GPU's timing().
#pragma once

#include "guard/process/devices.hpp"
#include "guard/process/timing.hpp"

namespace tessera::guard {

// The owner, if this is a thread's own default stream; else 0.
pthread_t thread_of(CUstream stream);

inline bool is_threads_own(const StreamTiming& of) {
    return of.thread != 0;
}
// The default stream of a context: its work waits for the context's other streams, and they wait
// for it.
inline bool is_default_of_all(const StreamTiming& of) {
    return is_default(of.stream.load()) && !is_threads_own(of);
}

template <typename Body>
void for_each_stream(int gpu, const Body& body) {
    for (int i = 0; i < timing(gpu).stream_count; i++)
        if (!is_gone(timing(gpu).streams[i])) body(timing(gpu).streams[i]);
}
// Those that may be queried.
template <typename Body>
void for_each_asked(int gpu, const Body& body) {
    for_each_stream(gpu, [&](StreamTiming& each) {
        if (each.context != timing(gpu).ending) body(each);
    });
}

// Null if the stream is not in the table.
StreamTiming* find_stream(CUstream stream, const Current& owner);
// If there are kMaxStreams streams, it takes the place of one that has no work. Null if all have
// work.
StreamTiming* find_or_add_stream(CUstream stream, const Current& owner);
// A place of its own for a copy that waits in the stream. Null as above.
StreamTiming* find_or_add_waited_copy(CUstream stream, const Current& owner);
// Another stream may take the place from now on. The stream's events must have been destroyed, or
// have ended with their context.
void free_place_of(StreamTiming& of);
void destroy_events(const StreamTiming& of);

}  // namespace tessera::guard
