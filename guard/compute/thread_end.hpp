// What to do when a thread ends that worked in a default stream of its own: the driver destroys
// that stream, and no other thread can query it.
#pragma once

namespace tessera::guard {

// Has leave_streams_of_thread() called for the GPU when this thread ends. If that is not possible
// (glibc before 2.18), such work counts until its context is waited for. Hold no lock of the guard:
// this calls the dynamic loader.
void leave_streams_at_thread_end(int gpu);

}  // namespace tessera::guard
