// How the guard learns that work has ended if no thread waits for it, and what happens when a
// stream ends.
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include "guard/process/devices.hpp"
#include "guard/process/timing.hpp"

namespace tessera::guard {

// The program has asked the driver whether a stream's work is over. found_done(): it is.
// found_at_work(): it is not.
void found_done(CUstream stream);
void found_at_work(CUstream stream);
// The stream is about to be given something that it waits for on the GPU: another stream's work, or
// a host function.
void before_stream_waits(CUstream stream);
// Around a wait for all work of the current context.
void before_wait_for_context();
void after_wait_for_context();
// Around a wait for something that may be the last work of any stream of the current GPU. Returns
// that GPU; -1: none of the container's.
int before_wait_for_event();
void look_for_ended(int gpu, Ended how);
// A thread waits for a launch permit, so no thread waits for the work in flight. That work must not
// count for longer than it takes. False if the end of some stream's work may go unseen: then call
// this again soon.
bool look_for_ended_meanwhile(int gpu);

// The watch looks at all streams of a GPU, in a thread of its own. Returns whether any has work in
// flight.
bool poll_streams(int gpu);

// Call this before the driver destroys a stream. The stream's work goes on.
void leave_stream(CUstream stream);
// The same for the calling thread's own default streams, in every context of a GPU, when it ends.
void leave_streams_of_thread(int gpu);
// Call this before the driver destroys a context, and all work in it.
void forget_streams_of(CUcontext context);
// Around a call that may destroy a context: its streams are not queried. Null: all streams may be
// queried again.
void ignore_streams_of(CUcontext context);
// What the stream is given from now on is captured, and is no work.
void note_capture(const Current& owner, CUstream stream);
// Around a call that may draw the stream into a capture. A query of the stream would invalidate
// that capture, so nothing queries it.
class NotAsked {
  public:
    explicit NotAsked(CUstream stream);
    ~NotAsked();
    NotAsked(const NotAsked&) = delete;
    NotAsked& operator=(const NotAsked&) = delete;

  private:
    StreamTiming* of_ = nullptr;
    std::uint64_t generation_ = 0;  // of the stream in that place
};

// Both require the mutex of the GPU's timing(). Call them before and after a wait for one stream,
// during which other streams end too. They look at a few of the others, because each look costs
// calls to the driver. Null: the stream that is waited for has no work, but may wait for others all
// the same.
void see_some_ends_beside(int gpu, const StreamTiming* of);
void look_at_some_beside(int gpu, const StreamTiming* of);

}  // namespace tessera::guard
