// What is to be done when a thread ends that worked in a default stream of its own: the driver ends
// that stream, and nobody can ask for it any more.
#pragma once

namespace tessera::guard {

// Has leave_streams_of_thread() called for the card when this thread ends. Where that cannot be had
// (glibc before 2.18) such work counts until its context is waited for. No lock of ours may be
// held: it asks the loader.
void leave_streams_at_thread_end(int card);

}  // namespace tessera::guard
