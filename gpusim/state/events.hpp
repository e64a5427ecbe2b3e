// The log of what happened to the cards: gpusimctl writes it, NVML's event sets read it.
#pragma once

#include <cstdint>

#include "gpusim/state/layout.hpp"

namespace gpusim {

struct EventRecord {
    int card = 0;  // index into CardsFile::cards
    std::uint64_t type = 0;
    std::uint64_t data = 0;
};

// Appends and wakes the readers. To be called under the decision lock.
void append_event(CardsFile& file, const EventRecord& record);

// Reads event `number`; false when it has been overwritten (the log keeps kMaxEvents) or is not
// there.
bool read_event(const CardsFile& file, std::uint64_t number, EventRecord& record);

// Sleeps until the bell differs from `seen` or the time is over, at most a moment longer or
// shorter.
void wait_for_bell(const CardsFile& file, std::uint32_t seen, unsigned timeout_ms);

}  // namespace gpusim
