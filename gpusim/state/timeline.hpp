// The time of a GPU's engines, shared by all processes without a process that runs it. A process
// books work with its amount. From that amount and the bookings of the other processes follows when
// the work is done.
//
// An engine serves every process that has work at the same rate, and a process's work in the order
// in which it was booked. So one number is enough: how far the engine has come with *each* process
// that has work (`work_ps`), as in processor sharing and in fair queueing. Work that is booked at w
// and takes d is done when `work_ps` reaches w + d, whichever processes come and go. By turns, n
// processes get 1/n of the engine each, as infinitely short time slices would give. Side by side,
// each runs at full rate while their demands together fit the engine; otherwise all slow down
// alike.
//
// Clients of one MPS server run side by side while no other process has work; otherwise all
// processes take turns.
//
// By turns on a GPU with time slices (Gpu::time_slice_ns), the engine for kernels serves one
// process at a time (slices.hpp). What book() returns then is the slot's own work, and only
// done_at() knows the difference.
//
// Times are CLOCK_MONOTONIC in ns. Functions marked (locked) require the engine's lock; the answers
// of the others may be slightly out of date.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

struct EngineId {
    int gpu;
    Engine engine;
};

inline constexpr std::int64_t kPsPerNs = 1000;
inline constexpr std::uint32_t kWholeEngine = 1000;
inline constexpr std::int64_t kNever = INT64_MAX;

std::int64_t monotonic_ns();

// Excludes other processes; callers exclude the threads of their own process.
class EngineLock {
  public:
    EngineLock(State& state, EngineId id);
    ~EngineLock();
    EngineLock(const EngineLock&) = delete;
    EngineLock& operator=(const EngineLock&) = delete;

  private:
    State& state_;
    off_t byte_;
};

struct Work {
    std::int64_t work_ps;
    std::uint32_t demand;  // thousandths of the engine
};

// Whether processes have the engine in time slices that are not infinitely short.
bool is_sliced(const State& state, EngineId id);
// The same for the owner of a slot: clients of MPS have no time slices.
bool is_sliced(const State& state, EngineId id, int slot);

// (locked) Books work for a slot, after the slot's earlier work. Returns the work_ps at which it is
// done.
std::int64_t book(State& state, EngineId id, int slot, Work work, std::int64_t now);
// (locked) Only if is_sliced(). Returns the work_ps that the slot comes to when it has its turn: at
// once if it has it. A slot without work gets a turn for that.
std::int64_t book_turn(State& state, EngineId id, int slot, std::int64_t now);
// (locked) Ends the slot's work now, done or not.
void cut_off(State& state, EngineId id, int slot, std::int64_t now);
// (locked) Cuts off what dead processes have booked, and clients of MPS that were ended.
void cut_off_dead(State& state, EngineId id, std::int64_t now);
// The same for all engines of the GPU. Takes the locks itself.
void cut_off_dead(State& state, int gpu);

// Resets the bookings of a slot, as if it had never worked. Takes the locks itself.
void clear_bookings(State& state, int slot);
// Takes the lock itself. False, and nothing is changed, while processes have work on a GPU with
// time slices.
bool set_sharing(State& state, int gpu, Sharing sharing);

// (locked) When the engine reaches or has reached `work_ps` of the slot, if no process starts or
// stops work; kNever for work that never ends. A time before the oldest remembered moment is
// reported as that moment.
std::int64_t done_at(State& state, EngineId id, int slot, std::int64_t work_ps, std::int64_t now);

// What the engine has done for a slot in total, in terms of the whole engine.
std::int64_t used_ps(const State& state, EngineId id, int slot, std::int64_t now);
// How long the engine had work within the last `window_ns`.
std::int64_t busy_ns(const State& state, EngineId id, std::int64_t window_ns, std::int64_t now);

}  // namespace gpusim
