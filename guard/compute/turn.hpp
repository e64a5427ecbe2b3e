// A thread waits for its container's turn, with work for a stream. Any thread, without the mutex of
// the card's timing().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/process/devices.hpp"

namespace tessera::guard {

// Without them there is nothing to measure by.
bool has_events();

// A stream's, which may be another's when the mutex was free.
struct Place {
    StreamTiming* of = nullptr;
    int card = -1;
    std::uint64_t generation = 0;

    // Wants the mutex of the card's timing().
    [[nodiscard]] bool is_ours() const { return of->generation == generation && !is_gone(*of); }
};

// Waits while as many streams have work as there are places: that of one more would not be counted.
using FindPlace = Place (*)(CUstream stream, const Current& owner);
Place wait_for_place(FindPlace find, CUstream stream, const Current& owner);

// In turn with the neighbours on the card. False where it goes on without its turn. Whoever has to
// wait learns meanwhile when the stream `behind` which the work comes has done what it has, if any.
bool wait_for_turn(const Place& of, WorkKind kind, const Place& behind);

}  // namespace tessera::guard
