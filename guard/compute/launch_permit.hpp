// A thread waits for a launch permit for its stream. Any thread, without the mutex of the GPU's
// timing().
#pragma once

#include "guard/process/devices.hpp"
#include "guard/process/timing.hpp"

namespace tessera::guard {

// Without these entry points there is nothing to measure with.
bool has_events();

// A stream's place in the table. Another stream may have taken it while the mutex was free.
struct Place {
    StreamTiming* of = nullptr;
    int gpu = -1;
    std::uint64_t generation = 0;

    // Requires the mutex of the GPU's timing().
    [[nodiscard]] bool is_ours() const { return of->generation == generation && !is_gone(*of); }
};

// Waits while all places are taken by streams with work. Work of one more stream would not be
// counted.
using FindPlace = Place (*)(CUstream stream, const Current& owner);
Place wait_for_place(FindPlace find, CUstream stream, const Current& owner);

// Waits for a launch permit, in turn with the GPU's other users. False if the thread goes on
// without one after the timeout. While it waits, it learns when the stream `behind`, if any, has
// done the work that it already has.
bool wait_for_permit(const Place& of, WorkKind kind, const Place& behind);

}  // namespace tessera::guard
