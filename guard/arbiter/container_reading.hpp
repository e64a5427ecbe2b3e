// What the arbiter knows of a container's time on a GPU: what it reads at a tick, and what it
// remembers until the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// Upper bound for any time that a tenant writes, and for sums of them: 73 years.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;

// A work interval that a process logged since the last reading, or the next piece of one.
struct EndedInterval {
    std::int64_t start_ns;   // when the interval began
    std::int64_t ns;         // its length, with the pieces before
    std::int64_t before_ns;  // the length of the pieces before
};

// All times are from 0 to kMaxTimeNs.
struct ProcessReading {
    std::int64_t in_flight_ns[kWorkKinds] = {};  // in all, as of the reading
    std::int64_t waited_ns = 0;                  // in all
    std::vector<Span> spans[kWorkKinds];  // the intervals in flight that are known, in any order
    std::vector<EndedInterval> ended[kWorkKinds];
    std::uint64_t logged = 0;           // number of the intervals in its log that were read
    Span last_logged[kWorkKinds] = {};  // the last one, with the pieces that it continues
    bool is_busy = false;  // it has work in flight now, or had some since the last reading
    // When the work interval in flight began, or the one in which the process died; 0: there is
    // none.
    std::int64_t since_ns[kWorkKinds] = {};
    bool is_lost[kWorkKinds] = {};  // the process died during it, so nothing will log its end
    // The part of in_flight_ns for a lost work interval, in the reading that finds it; left out
    // later.
    std::int64_t lost_ns[kWorkKinds] = {};
    std::int64_t ended_ns[kWorkKinds] = {};  // what the process logged as over, in all
};

// One process slot. Its last owner may be dead. The totals are over all of its owners.
struct SlotReading {
    int slot;
    ProcessReading process;
};

struct ContainerReading {
    Millionths cores = 0;
    Millionths cores_limit = kWhole;
    std::int64_t waited_ns = 0;  // of all its processes, in all
    bool waits = false;          // a live process waits now
    bool is_read = true;         // false: the accounts file is incomplete, and nothing is known
    unsigned next_slot = 0;      // slots that were taken are before it
    // Ascending. A process that was read before and is not here has done nothing since.
    std::vector<SlotReading> processes;
};

// What the readings of a container have shown so far.
struct KnownTimes {
    struct Process {
        bool is_known = false;
        bool is_busy = false;
        std::int64_t in_flight_ns[kWorkKinds] = {};  // without what was lost
        std::int64_t ended_ns[kWorkKinds] = {};
        std::int64_t since_ns[kWorkKinds] = {};
        bool is_lost[kWorkKinds] = {};
        std::int64_t waited_ns = 0;
        std::uint64_t logged = 0;
        Span last_logged[kWorkKinds] = {};
    };

    // Indexed by slot. Once the accounts were read, a slot that is not here had no owner by then.
    std::vector<Process> processes;
    std::int64_t waited_ns = 0;
    std::int64_t as_of_ns = 0;
    unsigned next_slot = 0;
    unsigned readings = 0;
};

void remember(KnownTimes& known, std::int64_t now, const ContainerReading& reading);

}  // namespace tessera::guard
