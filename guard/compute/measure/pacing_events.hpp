// Events between a stream's launches, which say how far the program is ahead of the GPU. Between
// two of them is the work that the GPU does in kPacingEventNs. All functions require the mutex of
// the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

inline constexpr std::int64_t kPacingEventNs = 2'000'000;
// Mean number of launches between two pacing events, however short they were. The next launches may
// be longer, and no launch takes a permit before the next pacing event.
inline constexpr int kMaxBatch = 256;
// Maximum number of queued calls at which we still record an event. Drivers queue about 1,024 calls
// of a stream, including the program's own events, which the guard does not count. After that, the
// driver blocks the caller. That must not happen while we hold the mutex, because the work that the
// stream waits for may need the mutex.
inline constexpr int kMostAhead = 768;

// An event of the stream's context, created if there is none yet. Null if it cannot be created.
CUevent event_in(CUevent& place, const StreamTiming& of);

// Removes the pacing events that are reached. Returns what the driver says of the first one that is
// not.
CUresult harvest(StreamTiming& of);
// Records a pacing event behind all that the stream was given. False if that is not possible.
bool add_pacing_event(StreamTiming& of, PacingEventAt at);
// The number of pacing events at launches that are not reached yet.
int pacing_events_ahead(const StreamTiming& of);
// The launch that follows the last pacing event has been given to the driver. It represents
// `stands_for` launches.
void record_launched_behind_pacing_event(StreamTiming& of, int stands_for);
// Chooses the number of launches until the next pacing event, if it is not known or if launches
// have become longer. The number is random, because a program may have a rhythm.
void draw_next_pacing_event(StreamTiming& of);
// When the work in flight began, if it has begun and an event is before it. 0: not known.
std::int64_t started_at(const StreamTiming& of);
// When the last reached pacing event was reached. 0: not known.
std::int64_t last_pacing_event_reached_ns(const StreamTiming& of);
// Learns what the launch behind the last reached pacing event took, and returns it. Less than 0: it
// was not measured, or is not over.
std::int64_t learn_first(StreamTiming& of, bool is_untold);
// `launches` launches took `ns`. If that is long, the next pacing event comes sooner.
void learn_pace(StreamTiming& of, int launches, std::int64_t ns);
// Waits for the first pacing event, at most until until_ns, and removes those that are reached.
// Releases the mutex while it waits. `failed`: the driver has an error, which its next caller gets.
// `gone`: the place is free, or another stream has it.
enum class Passed { reached, late, failed, gone };
Passed pass_first_pacing_event(StreamTiming& of, std::int64_t until_ns);
// Takes back the launches in the burst budget that were not used.
void take_back_burst_budget(StreamTiming& of);
// The launches that the stream was given and has not done, as far as pacing events tell.
int launches_ahead(const StreamTiming& of);
// These launches, and the stream's waits.
int calls_ahead(const StreamTiming& of);
bool has_room_for_event(const StreamTiming& of);

}  // namespace tessera::guard
