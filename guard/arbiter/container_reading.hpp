// What the arbiter knows of a container's time on a card: what it reads at a tick, and what it
// remembers of that until the next.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/region/clock.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// No time that a tenant writes counts as longer: 73 years. Sums stop there too.
inline constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;

// Times are from 0 to kMaxTimeNs.
struct ProcessReading {
    std::int64_t in_flight_ns[kWorkKinds] = {};  // in all, as of the reading
    std::int64_t waited_ns = 0;                  // in all
    std::vector<Span> spans[kWorkKinds];  // of that in flight, those that are known, in any order
    bool is_busy = false;                 // in flight now, or since the reading before
    // When the piece began that is in flight, or was when its process died; 0: there is none.
    std::int64_t since_ns[kWorkKinds] = {};
    bool is_lost[kWorkKinds] = {};  // its process is dead, and will never write it down
    // Of in_flight_ns, that of such a piece, when it is found to be one; later it is left out.
    std::int64_t lost_ns[kWorkKinds] = {};
    std::int64_t ended_ns[kWorkKinds] = {};  // what the process wrote down as over, in all
};

// Of a slot: its last owner may be dead, and what its owners had in all stays.
struct SlotReading {
    int slot;
    ProcessReading process;
};

struct ContainerReading {
    Millionths cores = 0;
    Millionths ceiling = kWhole;
    std::int64_t waited_ns = 0;  // of its processes together, in all
    bool waits = false;          // one that lives does now
    bool is_read = true;         // false: the accounts are not whole, and nothing is known
    unsigned next_slot = 0;      // those that were taken are before it
    // Ascending. Who was read before and is not here has done nothing since.
    std::vector<SlotReading> processes;
};

// What the readings of a container said so far.
struct KnownTimes {
    struct Process {
        bool is_known = false;
        bool is_busy = false;
        std::int64_t in_flight_ns[kWorkKinds] = {};  // without what was lost
        std::int64_t ended_ns[kWorkKinds] = {};
        std::int64_t since_ns[kWorkKinds] = {};
        bool is_lost[kWorkKinds] = {};
        std::int64_t waited_ns = 0;
    };

    // By slot. Once the accounts were read, a slot that is not here had no owner by then.
    std::vector<Process> processes;
    std::int64_t waited_ns = 0;
    std::int64_t as_of_ns = 0;
    unsigned next_slot = 0;
    unsigned readings = 0;
};

void remember(KnownTimes& known, std::int64_t now, const ContainerReading& reading);

}  // namespace tessera::guard
