// The time of a card's engines, shared by all processes without anyone who runs it: who books work
// says how much, and from that and what the others have booked follows when it is done.
//
// An engine serves every process that has work at the same rate, and a process's work in the order
// in which it came. So it is enough to know how far the engine has come with *each* process that
// has work (`work_ps`), as in processor sharing and in fair queueing: work that is booked at w and
// takes d is done when that reaches w + d, whoever comes and goes. By turns, n processes get 1/n
// of the engine each: what slices of a length of nothing would give. Side by side, each runs at
// full rate as long as their demands fit the engine together, and else all slow down alike.
//
// Times are CLOCK_MONOTONIC in ns. Functions marked (locked) want the engine's lock; the others
// give an answer that may be of a moment ago.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

struct EngineId {
    int card;
    Engine engine;
};

inline constexpr std::int64_t kPsPerNs = 1000;
inline constexpr std::uint32_t kWholeEngine = 1000;
inline constexpr std::int64_t kNever = INT64_MAX;

std::int64_t monotonic_ns();

// Excludes other processes; callers exclude the threads of their own.
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

// (locked) Gives the engine work for a slot, behind what that has. The work_ps at which it is done.
std::int64_t book(State& state, EngineId id, int slot, Work work, std::int64_t now);
// (locked) The slot's work ends here, done or not.
void cut_off(State& state, EngineId id, int slot, std::int64_t now);
// (locked) Cuts off what dead processes have booked.
void cut_off_dead(State& state, EngineId id, std::int64_t now);

// Makes a slot that had an owner one that never worked. Takes the locks itself.
void clear_bookings(State& state, int slot);
// Takes the lock itself.
void set_sharing(State& state, int card, Sharing sharing);

// (locked) When the engine has come to `work_ps`, or will if nobody comes or goes; kNever for work
// that has no end. What was done longer ago than the state remembers is said to be done then.
std::int64_t done_at(State& state, EngineId id, std::int64_t work_ps, std::int64_t now);

// What the engine has done for a slot in all, of the whole engine.
std::int64_t used_ps(const State& state, EngineId id, int slot, std::int64_t now);
// Of the last `window_ns`, how long the engine had work.
std::int64_t busy_ns(const State& state, EngineId id, std::int64_t window_ns, std::int64_t now);

}  // namespace gpusim
