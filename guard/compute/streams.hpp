// Work on its way to the cards, stream by stream: how much of it may be ahead, and since when there
// is some.
//
// A program may give a stream far more work than the card does before the container's turn is over.
// So it is never more than some marks ahead: events that are recorded between its launches, each
// after as much work as the card does in kMarkNs, by what it did between the last two (marks.hpp).
// Between marks, some kMaxBatch launches at most, a launch costs a look at a counter.
//
// Work is in flight from the launch on until a wait for it comes back, or it is found done, by who
// waits for something else or by the watch (watch.cpp); an event behind it says since when. What
// counts is the time in which any stream has some (flights.hpp). Streams that are being captured do
// no work, and are left alone.
//
// Any thread. All functions want begin() to have succeeded, but for has_credit().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/process/devices.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {

// The streams that a thread last used, so that most launches need not look for theirs.
inline constexpr unsigned kLastUsedBits = 4;
struct LastUsed {
    StreamTiming* streams[1U << kLastUsedBits];
};
extern thread_local constinit LastUsed last_used;

// Streams are addresses: by Fibonacci hashing even those of an array do not meet.
inline StreamTiming*& last_used_place(CUstream stream) {
    const auto address = reinterpret_cast<std::uintptr_t>(stream);
    return last_used.streams[address * 0x9E3779B97F4A7C15U >> (64U - kLastUsedBits)];
}

// One launch less, if there is one. Two threads in one stream may count one for two.
inline bool take_credit(StreamTiming& timing, WorkKind kind) {
    const CreditFor credit_for = timing.credit_for.load(std::memory_order_relaxed);
    if (credit_for != CreditFor::all &&
        (kind == WorkKind::kernels || credit_for == CreditFor::nothing))
        return false;
    const int credit = timing.credit.load(std::memory_order_relaxed);
    if (credit <= 0) return false;
    timing.credit.store(credit - 1, std::memory_order_relaxed);
    return true;
}

// The stream may be given one more piece of work without asking; that is counted. By far the most
// often called of all: no lock, no clock.
inline bool has_credit(CUstream stream, WorkKind kind) {
    StreamTiming* timing = last_used_place(stream);
    if (timing == nullptr || timing->stream.load(std::memory_order_relaxed) != stream) return false;
    return take_credit(*timing, kind);
}
// The thread's context has changed: its default streams are others.
inline void forget_last_used() {
    last_used = {};
}

// A call that gives a stream work. From its turn on, as long as this lives, the stream counts as
// having work: a thread that is not running between its turn and the driver has none there yet, and
// would else be taken to be done. (A call that has credit takes no turn, and is not seen there: of
// its pieces of work one may go uncounted, if it stands still for longer than the watch takes to
// look, just then.)
class Turn {
  public:
    Turn() = default;
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Once: waits until the stream may be given work of a kind, and gives it credit. The driver's
    // error where there is no context; kNotGuarded where its card is not the container's.
    [[nodiscard]] CUresult take(CUstream stream, WorkKind kind);

  private:
    bool begin(CUstream stream, const Current& owner, WorkKind kind, bool is_turn);
    void count(StreamTiming& of);
    void set_mark(StreamTiming& of);

    StreamTiming* of_ = nullptr;
    std::uint64_t generation_ = 0;  // of the stream in that place
    bool has_end_behind_ = false;   // an event, when the call is over
    unsigned mark_ = 0;             // the one that was set before the call, of all; 0: none was
    int stands_for_ = 0;            // launches for which the one behind it does
};

// What a stream was given so far.
struct Given {
    Current owner;
    std::uint64_t generation = 0;
    unsigned turns = 0;
    int credit = 0;
    Ended by = Ended::waited_for;  // the wait
};

// Around a wait for all work of a stream: the first before it, the second after it has succeeded.
// What another thread gave it meanwhile goes on.
Given before_wait(CUstream stream, Ended by = Ended::waited_for);
void after_wait(CUstream stream, const Given& given);

}  // namespace tessera::guard
