// What the guard knows of a process's work on the cards: its streams, and how much is in flight.
#pragma once

#include <pthread.h>

#include <atomic>

#include "api/nvidia/cuda.h"
#include "guard/region/layout.hpp"

namespace tessera::guard {

inline constexpr int kMaxStreams = 4096;  // with work in flight at once
inline constexpr int kMaxMarks = 3;       // that a stream's work is ahead

// A stream of this process, or the default stream of a context.
struct StreamTiming {
    std::atomic<CUstream> stream;
    CUcontext context;
    pthread_t thread;  // whose default stream it is; 0 with all others
    int card;
    std::atomic<int> credit;  // launches that need not ask
    WorkKind kind;            // of its work in flight
    bool is_in_flight;
    int on_their_way;  // calls that have their turn, and have not given the driver their work yet
    bool is_left;      // there is no such stream any more, and sample_end is behind its work
    bool is_gone;      // the place is free for another
    std::uint64_t generation;  // how many streams have had the place
    double each_ns;            // that a launch took of late
    int batch;                 // launches to a mark, so that it is reached after some kMarkNs
    int since_mark;            // launches
    int mark_count;            // not known to be reached
    int first_mark;
    bool has_last;  // the mark before the first was reached, and work has been in flight since
    CUevent marks[kMaxMarks + 1];
    int launches[kMaxMarks + 1];  // up to each mark, since the one before
    std::int64_t began_ns;        // its work in flight
    bool is_end_recorded;         // behind all of it,
    int end_credit;               // that there was then: had it more work since, there is less
    CUevent sample_start;
    CUevent sample_end;
};

// Zero at first, and again in a forked child.
struct Timing {
    pthread_mutex_t mutex;  // guards all of it but the credits
    std::atomic<bool> has_watch;
    // Work of any of its streams: one flight, as long as they follow on each other.
    struct Flight {
        int streams;  // not known to have ended
        std::int64_t began_ns;
        std::int64_t ended_ns;      // the last of those that are; 0: none is
        std::int64_t last_ns;       // that the flight before it lasted
        const StreamTiming* first;  // that began it; null: others have had a part in it
        bool is_one_of_several;     // others had a part in the one before it
        CUevent start;              // was recorded when it began; null: none was
    } flights[kMaxCards][kWorkKinds];
    // The balance, as of a time, when the process had so much in flight in all.
    struct Seen {
        std::int64_t granted_ns;  // by the grant of then
        std::int64_t as_of_ns;
        std::int64_t in_flight_ns;
        std::int64_t balance_ns;
    } seen[kMaxCards][kWorkKinds];
    std::int64_t overhead_ns;  // of a piece of work in flight: what is not the card's
    unsigned flights_total;
    int stream_count;    // places that were ever used
    unsigned next_idle;  // where one that is not needed is looked for first
    unsigned next_look;  // and one whose work may have ended
    StreamTiming streams[kMaxStreams];
};

// Of this process; begin() has succeeded.
Timing& timing();
ProcessTime& card_time(int card);
FlightLog& flight_log();
const CardLimit& card_limit(int card);

}  // namespace tessera::guard
