// Events between a stream's launches, each after as much work as the card does in kMarkNs: how far
// it is ahead. All functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

inline constexpr std::int64_t kMarkNs = 2'000'000;
// Launches to a mark, however short they were: the next ones need not be, and nobody asks before
// the mark.
inline constexpr int kMaxBatch = 256;

// An event of the stream's context, made where there is none; null where none can be.
CUevent event_in(CUevent& place, const StreamTiming& of);

// Takes out the marks that are reached. What the driver says of the first that is not.
CUresult harvest(StreamTiming& of);
// Behind all that the stream was given since the last.
void add_mark(StreamTiming& of);
// Waits for the first mark until then at most, and takes out those that are reached. Without the
// mutex meanwhile: others go on. `failed`: the driver has an error to tell to whoever asks it next;
// `gone`: the place is another's, or nobody's.
enum class Passed { reached, late, failed, gone };
Passed pass_first_mark(StreamTiming& of, std::int64_t until_ns);
// Launches that the stream was given and has not done, as far as marks tell.
int launches_ahead(const StreamTiming& of);

}  // namespace tessera::guard
