// How work ends for streams that nobody waits for, and how streams do.
//
// Any thread. All functions want begin() to have succeeded.
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/process/devices.hpp"

namespace tessera::guard {

// Somebody has asked the driver for a stream's work, which is over, or not yet.
void found_done(CUstream stream);
void found_at_work(CUstream stream);
// The stream is about to be given something that it waits for on the card: another stream's work, a
// function of the host.
void before_stream_waits(CUstream stream);
// Around a wait for all work of the current context.
void before_wait_for_context();
void after_wait_for_context();
// Around a wait for something that may be the last of any stream of the current card. Which that
// is; -1: none of ours.
int before_wait_for_event();
void look_for_ended(int card, Ended how);
// A thread waits for its turn: so nobody waits for the work that is in flight, and that is to count
// for no longer than it takes. False where the thread had better look again soon: that of some
// stream may end unseen.
bool look_for_ended_meanwhile(int card);

// The watch's look at all streams of a card, in a thread of its own. Whether any has work in
// flight.
bool watch_streams(int card);

// Before the driver forgets a stream, whose work goes on.
void leave_stream(CUstream stream);
// The same of the calling thread's own, of every context of a card, when it ends.
void leave_streams_of_thread(int card);
// Before the driver forgets a context, and all work in it.
void forget_streams_of(CUcontext context);
// Around what may end a context, or not: none of its streams is asked for; null: all are again.
void ignore_streams_of(CUcontext context);
// What the stream is given from now on is no work.
void note_capture(const Current& owner, CUstream stream);
// Around a call that may draw the stream into a capture, which who asks the driver for it would
// spoil: nobody does.
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

// Both with the mutex of the card's timing(): before and after a wait for one stream, in which
// others end too. They look at a few of them: each costs calls of the driver's. Null: one that had
// no work, and may wait for others all the same.
void see_some_ends_beside(int card, const StreamTiming* of);
void look_at_some_beside(int card, const StreamTiming* of);

}  // namespace tessera::guard
