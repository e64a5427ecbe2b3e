// The time of a GPU whose processes take turns of a length (Gpu::time_slice_ns), as those of a real
// one do. timeline.hpp calls this for such a GPU; the functions are those of that header.
//
// The rules. They are from two and three processes on an H100 (driver 580.159.04, CUDA 13.0), with
// a slice of 2 ms and a switch of 0.27 ms:
// - The processes that have work run one after another, in the order of their slots, each for a
//   slice or until it has no more work. A kernel is preempted in the middle.
// - When another process runs than before, no process runs for Gpu::switch_ns.
// - A process whose slice is over runs on while no other process has work. The first one that gets
//   work is noticed after a fifth of a slice.
//
// The state is the ring of the turns that are over, and what each slot has booked and when. Which
// turns come after the newest one of the ring follows from that, so every process finds the same.
// No booking changes turns before its own time. A turn is in the ring from the one store that
// counts it. It says how far its slot had come, so storing that in the slot again is harmless.
//
// A slot's work is counted in ps from 0, and never starts again, also with another owner.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim::slices {

// Work that never ends.
inline constexpr std::int64_t kForever = INT64_MAX / 2;

// (locked) Returns how far the slot has come when the work is done.
std::int64_t book(State& state, int gpu, int slot, std::int64_t work_ps, std::int64_t now);
// (locked) Returns how far the slot has come at the first instant of its present or next turn.
// Books the least work if it has none.
std::int64_t book_turn(State& state, int gpu, int slot, std::int64_t now);
// (locked)
void cut_off(State& state, int gpu, int slot, std::int64_t now);
void cut_off_dead(State& state, int gpu, std::int64_t now);
// (locked) Whether any slot has work.
bool has_work(State& state, int gpu, std::int64_t now);
// (locked) When the slot comes or came to `work_ps`; INT64_MAX for never. An answer that is not
// later than `now` remains true: no later booking changes what was before it.
std::int64_t done_at(State& state, int gpu, int slot, std::int64_t work_ps, std::int64_t now);
// Whether a slot ever had work.
bool has_booked(const State& state, int gpu, int slot);
// (locked) The slot has a new owner. Its work must be cut off.
void forget(State& state, int gpu, int slot);

std::int64_t used_ps(const State& state, int gpu, int slot, std::int64_t now);
// Switches count.
std::int64_t busy_ns(const State& state, int gpu, std::int64_t window_ns, std::int64_t now);

}  // namespace gpusim::slices
