// The log of what happened to the GPUs: gpusimctl writes it, NVML's event sets read it.
#pragma once

#include <cstdint>

#include "gpusim/state/layout.hpp"

namespace gpusim {

struct EventRecord {
    int gpu = 0;  // index into GpusFile::gpus
    std::uint64_t type = 0;
    std::uint64_t data = 0;
};

// Appends and wakes the readers. Call it under the decision lock.
void append_event(GpusFile& file, const EventRecord& record);

// Reads event `number`. False if it has been overwritten (the log keeps kMaxEvents) or does not
// exist.
bool read_event(const GpusFile& file, std::uint64_t number, EventRecord& record);

// Sleeps until the bell differs from `seen` or the timeout is over; it may be slightly early or
// late.
void wait_for_bell(const GpusFile& file, std::uint32_t seen, unsigned timeout_ms);

}  // namespace gpusim
