// The arbiter's last grant of time on a GPU to a container, written completely or not at all.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// The lowest balance: a kernel that takes longer than this is not paid for in full.
inline constexpr std::int64_t kMaxDebtNs = 1'000'000'000;

// The weight of a container without a guarantee, where GPU time is shared by weight.
inline constexpr Millionths kWeightOfNone = 100'000;

// The rate while no other container has wanted the GPU recently. It is more than the whole, so that
// no process waits because a clock is a little off.
inline constexpr Millionths kAloneRate = kWhole + kWhole / 4;

// A Grant as a plain value; layout.hpp describes its members.
struct Granted {
    struct OfKind {
        std::int64_t balance_ns;
        Millionths part;
    };

    std::int64_t as_of_ns;
    Millionths rate;
    OfKind of[kWorkKinds];
};

// Any thread of any process of the container may call this.
Granted read_grant(const Grant& grant);
// Only one thread of one process may call this: the arbiter's.
void write_grant(Grant& grant, const Granted& granted);

std::int64_t part_of(std::int64_t ns, Millionths part);

}  // namespace tessera::guard
