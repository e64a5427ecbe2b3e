#include "guard/arbiter/container_reading.hpp"

#include <cstddef>

namespace tessera::guard {

void remember(KnownTimes& known, std::int64_t now, const ContainerReading& reading) {
    for (const auto& [slot, process] : reading.processes) {
        const auto of_slot = static_cast<std::size_t>(slot);
        if (of_slot >= known.processes.size()) known.processes.resize(of_slot + 1);
        KnownTimes::Process& before = known.processes[of_slot];
        before = {.is_known = true,
                  .is_busy = process.is_busy,
                  .waited_ns = process.waited_ns,
                  .logged = process.logged};
        for (int kind = 0; kind < kWorkKinds; kind++) {
            before.in_flight_ns[kind] = process.in_flight_ns[kind] - process.lost_ns[kind];
            before.ended_ns[kind] = process.ended_ns[kind];
            before.since_ns[kind] = process.since_ns[kind];
            before.is_lost[kind] = process.is_lost[kind];
            before.last_logged[kind] = process.last_logged[kind];
        }
    }
    known.waited_ns = reading.waited_ns;
    known.as_of_ns = now;
    known.next_slot = reading.next_slot;
    if (reading.is_read) known.readings++;
}

}  // namespace tessera::guard
