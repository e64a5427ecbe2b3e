// What the guard knows of this process's work on the GPUs: its streams, and how much is in flight.
#pragma once

#include <pthread.h>

#include <atomic>

#include "api/nvidia/cuda.h"
#include "guard/process/launched_work.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

inline constexpr int kMaxStreams = 4096;       // with work in flight at the same time
inline constexpr int kMaxPacingEvents = 3;     // at launches, which the GPU has not reached yet
inline constexpr int kPacingEventPlaces = 16;  // for these, and for those around waits

// Where a pacing event is: between two launches, between work and a wait that follows it, or
// between a wait and the work that follows it.
enum class PacingEventAt { launches, wait, wait_end };

// An event in a stream (pacing_events.hpp).
struct PacingEvent {
    CUevent event;
    PacingEventAt at;
    CUevent behind_next;   // recorded behind the launch that follows this event,
    bool has_next;         // if this is true,
    std::int64_t late_ns;  // this long after this event, if the call took long;
    int stands_for;        // the number of launches that the measured one represents
    bool is_ahead;         // the event before was not reached then: there was no pause in between
    bool is_untold;  // the stream's launches do not tell whether there was a pause (pauses.hpp)
    bool has_wait;   // a wait since the event before has no events of its own
    int launches;    // since the event before
    int waits;       // since the event before
    std::int64_t recorded_ns;
    std::int64_t clock_ns;  // the clock that its context had then; 0: none
};

// What a stream's burst budget may be spent on. A work interval of copies that gets a kernel would
// become one of kernels. A stream that is not in flight has no budget, even if a thread puts back a
// budget that it read before the work interval ended.
enum class BurstBudgetFor { nothing, copies, all };

// How the guard learned that a work interval has ended: by a wait for it, by a copy behind it that
// was waited for (waited_copy.hpp), by the program's repeated queries, or by the guard's own look
// at it.
enum class Ended { waited_for, waited_for_by_copy, asked_after, looked_at };

// A stream's pacing events, in the order in which the GPU reaches them.
struct PacingEvents {
    PacingEvent places[kPacingEventPlaces + 1];  // a ring, with the last one that was reached
    int first;
    int ahead;             // not known to be reached
    unsigned added;        // in all; wraps around
    CUevent last_reached;  // work has been in flight since then; null: none was reached
};

// What a stream was given since its last pacing event.
struct SincePacingEvent {
    int launches;
    int waits;        // waits and host functions
    unsigned joined;  // BusyInterval::joined when it began
    bool is_untold;   // see PacingEvent
    bool has_wait;    // see PacingEvent
};

// How fast a stream does its work.
struct Pace {
    double each_ns;     // from one launch to the next, recently
    double longest_ns;  // the longest each_ns; decays
    int batch;  // launches between pacing events, so that one is reached every kPacingEventNs
    int to_pacing_event;  // launches until the next pacing event
};

// An event before all of a stream's work in flight.
struct Start {
    CUevent event;
    bool is_recorded;
    bool is_reached;        // as far as is known
    std::int64_t clock_ns;  // the clock that its context had then; 0: none
    std::int64_t took_ns;   // the time that recording it took
};

// An event behind all of a stream's work in flight.
struct End {
    CUevent event;
    bool is_recorded;
    std::int64_t awaited_ns;   // since when it is waited for, or recorded; 0: neither
    int awaited_burst_budget;  // the budget at that time; it is less now if the stream got more
                               // work
};

// A stream of this process, or the default stream of a context. gone: the place is free for another
// stream. left: the stream no longer exists, and `end` is behind its work.
struct StreamTiming {
    std::atomic<CUstream> stream;
    CUcontext context;
    pthread_t thread;  // the owner, if this is a thread's own default stream; else 0
    int gpu;
    enum class State { gone, lives, left } state;
    bool is_waited_copy;  // this stands for copies that wait in the stream, not for all its work
    std::uint64_t generation;  // number of streams that have had this place

    std::atomic<int> burst_budget;  // launches that need no permit
    std::atomic<BurstBudgetFor> burst_budget_for;
    unsigned permits;  // permits that were taken in it; wraps around
    int on_their_way;  // calls that have a permit, and have not given the driver their work yet
    Pace pace;
    LaunchedWork work[kWorkKinds];

    WorkKind kind;  // of its work in flight
    bool is_in_flight;
    std::int64_t began_ns;
    int stands_for;   // the number of work intervals that this one represents if measured; 0: it is
                      // not measured
    bool is_at_wait;  // the last thing it was given was a wait (stream_waits.hpp)
    Start start;
    PacingEvents pacing_events;
    SincePacingEvent since;
    End end;
};

inline bool is_gone(const StreamTiming& of) {
    return of.state == StreamTiming::State::gone;
}
inline bool is_left(const StreamTiming& of) {
    return of.state == StreamTiming::State::left;
}

inline constexpr int kMaxClocks = 16;  // contexts that have a clock
inline constexpr int kMaxEnded = 32;   // work intervals that are over and not settled

// Of one GPU. Each GPU has a mutex of its own, because the driver is called while the mutex is
// held: a GPU on which the driver does not answer must not block launches on the others. Zero at
// first, and again in a forked child.
struct Timing {
    pthread_mutex_t mutex;  // guards everything except the burst budgets
    std::atomic<bool> has_polling_thread;
    std::atomic<bool>
        is_dozing;     // the polling thread looks rarely, and will see late what begins now
    CUcontext ending;  // may be about to end: do not query its streams
    // The work of any of the GPU's streams. One busy interval lasts from the first work until no
    // stream has any.
    struct BusyInterval {
        int streams;               // not known to have ended
        unsigned joined;           // that ever joined; wraps around
        int permits;               // those that were taken, and whose work has not begun
        const StreamTiming* only;  // the only stream that took part; null: several did
        bool is_waited_for;        // the end of the last work interval was learned by a wait for it
        std::int64_t began_ns;
        // Length of the previous busy interval, up to when its end was learned.
        std::int64_t last_ns;
        // Of a work interval that was waited for: the part that is not the GPU's work.
        std::int64_t wait_overhead_ns;
        // The same for one behind which a copy was waited for.
        std::int64_t copy_overhead_ns;
        // Until then, work is final and logged. From then on, all time counts as work while a work
        // interval that began earlier is not known to be over.
        std::int64_t settled_ns;
        Span ended[kMaxEnded];  // later than settled_ns; ascending and disjoint
        int ended_count;
        std::int64_t last_end_ns;
    } busy_intervals[kWorkKinds];
    // A context's clock (gpu_clock.hpp).
    struct Clock {
        CUcontext context;
        CUstream stream;
        CUevent event;
        std::int64_t recorded_ns;
        std::int64_t late_ns;  // how long after recorded_ns the event happened, as far as is known
    } clocks[kMaxClocks];
    // The balance at as_of_ns, when the process had had in_flight_ns in flight in all.
    struct AsOfGrant {
        std::int64_t granted_ns;  // as_of_ns of the grant that applied
        std::int64_t as_of_ns;
        std::int64_t in_flight_ns;
        std::int64_t balance_ns;
    } seen[kWorkKinds];
    // What the process had had in flight in all when its used time was last recorded (order.hpp).
    struct Had {
        std::int64_t as_of_ns;
        std::int64_t in_flight_ns;
    } had[kWorkKinds];
    // The container's processes that have work or wait for a permit, as of a time.
    struct AtWork {
        std::int64_t as_of_ns;
        int processes;
    } at_work;
    std::uint32_t random;     // lot.hpp
    unsigned permits;         // permits that were taken
    std::int64_t looked_ns;   // when a thread that waits for a permit last looked,
    unsigned looked_permits;  // the value of permits then,
    bool is_all_seen;         // and whether the end of all work will be seen
    int stream_count;         // places that were ever used
    unsigned next_idle;       // where the search for an idle place starts
    unsigned next_look;       // where the search for work that may have ended starts
    StreamTiming streams[kMaxStreams];
};

// Of this process. Requires that begin() has succeeded.
Timing& timing(int gpu);
ProcessTime& gpu_time(int gpu);
// With the mutex that guards it.
struct OwnLog {
    BusyIntervalLog& log;
    pthread_mutex_t& mutex;
};
OwnLog busy_log();
const GpuLimit& gpu_limit(int gpu);

}  // namespace tessera::guard
