// The streams of this process that have had work, card by card. All functions want the mutex of the
// card's timing().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/process/devices.hpp"

namespace tessera::guard {

// Whose default stream it is; 0 with all others.
pthread_t thread_of(CUstream stream);

inline bool is_threads_own(const StreamTiming& of) {
    return of.thread != 0;
}
// The default stream of a context: what is given to that waits for its other streams, and they for
// it.
inline bool is_default_of_all(const StreamTiming& of) {
    return is_default(of.stream.load()) && !is_threads_own(of);
}

template <typename Body>
void for_each_stream(int card, const Body& body) {
    for (int i = 0; i < timing(card).stream_count; i++)
        if (!is_gone(timing(card).streams[i])) body(timing(card).streams[i]);
}
// Those of which the driver may be asked.
template <typename Body>
void for_each_asked(int card, const Body& body) {
    for_each_stream(card, [&](StreamTiming& each) {
        if (each.context != timing(card).ending) body(each);
    });
}

// Null where there is none, or none any more.
StreamTiming* find_stream(CUstream stream, const Current& owner);
// Takes the place of one that has no work where there are kMaxStreams; null where all have some.
StreamTiming* find_or_add_stream(CUstream stream, const Current& owner);
// For a copy that waits in the stream: none that is in use. Null as above.
StreamTiming* find_or_add_waited_copy(CUstream stream, const Current& owner);
// The place is another's from now on; its events are destroyed, or have ended with their context.
void free_place_of(StreamTiming& of);
void destroy_events(const StreamTiming& of);

}  // namespace tessera::guard
