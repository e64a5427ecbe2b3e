// Events between a stream's launches, each after as much work as the card does in kMarkNs: how far
// it is ahead. All functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

inline constexpr std::int64_t kMarkNs = 2'000'000;
// Launches to a mark in the mean, however short they were: the next ones need not be, and nobody
// asks before the mark.
inline constexpr int kMaxBatch = 256;
// What a stream may have ahead, and still be given an event of ours. Drivers queue some 1,024 calls
// of a stream, also events of the program's that nobody counts, and then have whoever gives it more
// wait: not to be done with the mutex, for what the stream waits for may want it.
inline constexpr int kMostAhead = 768;

// An event of the stream's context, made where there is none; null where none can be.
CUevent event_in(CUevent& place, const StreamTiming& of);

// Takes out the marks that are reached. What the driver says of the first that is not.
CUresult harvest(StreamTiming& of);
// Behind all that the stream was given since the last. False where there can be none.
bool add_mark(StreamTiming& of, MarkAt at);
// Those between launches that are not reached.
int marks_ahead(const StreamTiming& of);
// The launch that follows the last mark has been given to the driver, and stands for so many.
void note_launched_behind_mark(StreamTiming& of, int stands_for);
// After how many launches the next one is to be, where it is not known or they have become longer:
// by lot, for a program may have a rhythm.
void draw_next_mark(StreamTiming& of);
// When the work in flight began, which has, where there is an event before it; 0: it cannot be
// told.
std::int64_t started_at(const StreamTiming& of);
// When the last mark that was reached was; 0: it cannot be told.
std::int64_t last_mark_reached_ns(const StreamTiming& of);
// What the launch behind the last mark that was reached took: that is learnt. Less than 0: it was
// not measured, or is not over.
std::int64_t learn_first(StreamTiming& of, bool is_untold);
// So many took so long: the next mark is to be no farther than it should.
void learn_pace(StreamTiming& of, int launches, std::int64_t ns);
// Waits for the first mark until then at most, and takes out those that are reached. Without the
// mutex meanwhile: others go on. `failed`: the driver has an error to tell to whoever asks it next;
// `gone`: the place is another's, or nobody's.
enum class Passed { reached, late, failed, gone };
Passed pass_first_mark(StreamTiming& of, std::int64_t until_ns);
// Launches that it was given credit for, and has not been given.
void take_back_credit(StreamTiming& of);
// Launches that the stream was given and has not done, as far as marks tell.
int launches_ahead(const StreamTiming& of);
// These and what it waits for.
int calls_ahead(const StreamTiming& of);
bool has_room_for_event(const StreamTiming& of);

}  // namespace tessera::guard
