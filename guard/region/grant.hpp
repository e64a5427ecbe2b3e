// What the arbiter last said of a container's time on a card, whole or not at all.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// What a balance may sink to: a kernel that is longer than this is not paid for in full.
inline constexpr std::int64_t kMaxDebtNs = 1'000'000'000;

// What counts for the cores of who is sure of nothing, where time is shared out by weight.
inline constexpr Millionths kWeightOfNone = 100'000;

// The rate where nobody else wanted the card of late: more than the whole, so that nobody waits
// because a clock is a little off.
inline constexpr Millionths kAloneRate = kWhole + kWhole / 4;

// A Grant as a value; what its members mean is said there.
struct Granted {
    struct OfKind {
        std::int64_t balance_ns;
        Millionths part;
    };

    std::int64_t as_of_ns;
    Millionths rate;
    OfKind of[kWorkKinds];
};

// Any thread of any process of the container.
Granted read_grant(const Grant& grant);
// One thread of one process: the arbiter's.
void write_grant(Grant& grant, const Granted& granted);

std::int64_t part_of(std::int64_t ns, Millionths part);

}  // namespace tessera::guard
