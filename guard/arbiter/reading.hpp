// What the arbiter reads of a container: through a descriptor, for a file that tenants may truncate
// is not to be mapped. Tenants write what they like, so every number is brought within its bounds
// here, and none costs more than so much time.
#pragma once

#include <vector>

#include "guard/arbiter/container_reading.hpp"
#include "guard/region/look.hpp"

namespace tessera::guard {

// Adds to an empty reading what the container's processes say of their time on a card: of every
// slot that was ever taken what its owners had in all, for that stays. Processes that are dead have
// no work in flight, and do not wait, whatever they left. Their sums are at most kMaxTimeNs. False
// where the file is not whole.
//
// With what the readings before said, those alone that may have done something since, and their
// pieces of work since. A slot that nobody lives in is then looked at only now and again: should it
// change all the same, that is noticed within kMaxProcesses / kSlotsAtOnce readings.
inline constexpr int kSlotsAtOnce = 32;
// A tenant can make each question slow, who lives in a slot, by many locks on the file: so there is
// an end to them, by the clock, and who is not asked for is taken as living.
inline constexpr std::int64_t kLongestAskingNs = 250'000;
bool read_times(int accounts_fd, int card, std::int64_t now, ContainerReading& reading,
                const KnownTimes* known = nullptr,
                std::int64_t longest_asking_ns = kLongestAskingNs);

// What a container holds of a card, and how often it was refused more. As above.
struct HeldReading {
    Granules held = 0;           // what died within it counts until a neighbour takes it back
    Granules nobodys = 0;        // of it, what descriptors alone may hold, their maker dead
    std::uint64_t refusals = 0;  // at most INT64_MAX
};
bool read_held(int accounts_fd, int card, HeldReading& reading);

// The processes that live, also those that hold nothing of the card: the driver may count a context
// for one. A pid that cannot be one is 0. As above.
bool read_holders(int accounts_fd, int card, std::vector<Holder>& holders);

}  // namespace tessera::guard
