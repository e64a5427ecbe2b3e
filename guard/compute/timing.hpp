// What the guard knows of a process's work on the cards: its streams, and how much is in flight.
#pragma once

#include <pthread.h>

#include <atomic>

#include "api/nvidia/cuda.h"
#include "guard/compute/launched_work.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

inline constexpr int kMaxStreams = 4096;  // with work in flight at once
inline constexpr int kMaxMarks = 3;       // between launches, that a stream's work is ahead
inline constexpr int kMarkPlaces = 16;    // for these, and for those around what it waits for

// Why there is a mark: its stream has work before it and behind, or work and then something that it
// waits for, or that and then work.
enum class MarkAt { launches, wait, wait_end };

// An event in a stream (marks.hpp).
struct Mark {
    CUevent event;
    MarkAt at;
    CUevent behind_next;   // behind the launch that follows it,
    bool has_next;         // which was recorded,
    std::int64_t late_ns;  // so long after, where the call took long,
    int stands_for;        // and is measured for so many
    bool is_ahead;         // the mark before was not reached then: there was no pause since
    bool is_untold;        // the stream's own launches do not say whether there was (pauses.hpp)
    bool has_wait;         // of the stream's since the mark before, that has no marks of its own
    int launches;          // since the mark before,
    int waits;             // and what the stream waits for
    std::int64_t recorded_ns;
    std::int64_t clock_ns;  // which clock its context had then; 0: none
};

// What a stream's credit may be spent on. A piece of copies that got a kernel would be one of
// kernels; and what is not in flight has none, though somebody puts back what he has looked at
// before its piece ended.
enum class CreditFor { nothing, copies, all };

// How it was learnt that a piece of work has ended: by a wait for it, by that of a copy behind it
// (waited_copy.hpp), by who does not wait but asks for it again and again, or by the guard's own
// look at it.
enum class Ended { waited_for, waited_for_by_copy, asked_after, looked_at };

// Those of a stream, in the order in which it reaches them.
struct Marks {
    Mark places[kMarkPlaces + 1];  // a ring, with the last that was reached
    int first;
    int ahead;             // not known to be reached
    unsigned added;        // in all, which wraps
    CUevent last_reached;  // where work has been in flight since; null: none was
};

// What a stream was given since its last mark.
struct SinceMark {
    int launches;
    int waits;        // and functions of the host
    unsigned joined;  // the flight, when it began
    bool is_untold;   // as of a mark
    bool has_wait;    // likewise
};

// How fast a stream does what it is given.
struct Pace {
    double each_ns;     // from one launch to the next of late
    double longest_ns;  // that it was; let down by and by
    int batch;          // launches to a mark, so that it is reached after some kMarkNs
    int to_mark;        // launches until the next one
};

// An event before all of a stream's work in flight.
struct Start {
    CUevent event;
    bool is_recorded;
    bool is_reached;        // as far as is known
    std::int64_t clock_ns;  // which clock its context had then; 0: none
    std::int64_t took_ns;   // to record it
};

// An event behind all of it.
struct End {
    CUevent event;
    bool is_recorded;
    std::int64_t awaited_ns;  // since when it is waited for, or recorded; 0: it is not
    int awaited_credit;       // that there was then: had it more work since, there is less
};

// A stream of this process, or the default stream of a context. Gone: the place is free for
// another. Left: there is no such stream any more, and `end` is behind its work.
struct StreamTiming {
    std::atomic<CUstream> stream;
    CUcontext context;
    pthread_t thread;  // whose default stream it is; 0 with all others
    int card;
    enum class State { gone, lives, left } state;
    bool is_waited_copy;       // not all that the stream does, but copies that wait in it
    std::uint64_t generation;  // how many streams have had the place

    std::atomic<int> credit;  // launches that need not ask,
    std::atomic<CreditFor> credit_for;
    unsigned turns;    // that were taken in it, which wraps
    int on_their_way;  // calls that have their turn, and have not given the driver their work yet
    Pace pace;
    LaunchedWork work[kWorkKinds];

    WorkKind kind;  // of its work in flight
    bool is_in_flight;
    std::int64_t began_ns;
    int stands_for;   // pieces, where launches of this one are measured; 0: none are
    bool is_at_wait;  // its last work or wait was a wait (stream_waits.hpp)
    Start start;
    Marks marks;
    SinceMark since;
    End end;
};

inline bool is_gone(const StreamTiming& of) {
    return of.state == StreamTiming::State::gone;
}
inline bool is_left(const StreamTiming& of) {
    return of.state == StreamTiming::State::left;
}

inline constexpr int kMaxClocks = 16;  // contexts that have one
inline constexpr int kMaxEnded = 32;   // pieces of a flight that are over and not settled

// Of one card, with a mutex of its own: the driver is asked while it is held, and where one card
// keeps it from answering nobody is kept from launching on another. Zero at first, and again in a
// forked child.
struct Timing {
    pthread_mutex_t mutex;  // guards all of it but the credits
    std::atomic<bool> has_watch;
    std::atomic<bool> is_dozing;  // the watch: what begins now it will see late
    CUcontext ending;             // is about to end, maybe: nobody may ask for its streams
    // Work of any of its streams: one flight, from when there was none until there is none again.
    struct Flight {
        int streams;               // not known to have ended
        unsigned joined;           // that ever were, which wraps
        int promised;              // turns that were had, and whose work has not begun
        const StreamTiming* only;  // stream that had a part in it; null: others had
        bool is_waited_for;  // the end of the last piece that ended was learnt by a wait for it
        std::int64_t began_ns;
        std::int64_t last_ns;           // how long the flight before it was, until that was learnt
        std::int64_t wait_overhead_ns;  // of a piece that was waited for: what is not the card's;
        std::int64_t copy_overhead_ns;  // of one for which a copy waited
        // What is settled is written down for good. Later, all time counts as work that began
        // before a piece that is not known to be over, until that is.
        std::int64_t settled_ns;
        Span ended[kMaxEnded];  // later than that; ascending, apart
        int ended_count;
        std::int64_t last_end_ns;
    } flights[kWorkKinds];
    // A context's (card_clock.hpp).
    struct Clock {
        CUcontext context;
        CUstream stream;
        CUevent event;
        std::int64_t recorded_ns;
        std::int64_t late_ns;  // that the event happened after that, as far as is known
    } clocks[kMaxClocks];
    // The balance, as of a time, when the process had so much in flight in all.
    struct AsOfGrant {
        std::int64_t granted_ns;  // by the grant of then
        std::int64_t as_of_ns;
        std::int64_t in_flight_ns;
        std::int64_t balance_ns;
    } seen[kWorkKinds];
    // What the process had in flight in all when what it has had was last noted (order.hpp).
    struct Had {
        std::int64_t as_of_ns;
        std::int64_t in_flight_ns;
    } had[kWorkKinds];
    // The container's processes that have work or wait for their turn, as of a time.
    struct AtWork {
        std::int64_t as_of_ns;
        int processes;
    } at_work;
    std::uint32_t random;    // lot.hpp
    unsigned turns;          // that were taken
    std::int64_t looked_ns;  // by who waits for his: when,
    unsigned looked_turns;   // when so many were taken,
    bool is_all_seen;        // and whether all ends are going to be seen
    int stream_count;        // places that were ever used
    unsigned next_idle;      // where one that is not needed is looked for first
    unsigned next_look;      // and one whose work may have ended
    StreamTiming streams[kMaxStreams];
};

// Of this process; begin() has succeeded.
Timing& timing(int card);
ProcessTime& card_time(int card);
// By its mutex.
struct OwnLog {
    FlightLog& log;
    pthread_mutex_t& mutex;
};
OwnLog flight_log();
const CardLimit& card_limit(int card);

}  // namespace tessera::guard
