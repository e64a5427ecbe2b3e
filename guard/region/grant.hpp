// What the arbiter last said of a container's time on a card, whole or not at all.
#pragma once

#include <time.h>

#include "guard/region/layout.hpp"

namespace tessera::guard {

// What a balance may sink to: a kernel that is longer than this is not paid for in full.
inline constexpr std::int64_t kMaxDebtNs = 1'000'000'000;

// What counts for the cores of who is sure of nothing, where time is shared out by weight.
inline constexpr Millionths kWeightOfNone = 100'000;

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

// CLOCK_MONOTONIC, without the end.
struct Span {
    std::int64_t start_ns;
    std::int64_t end_ns;
};
std::int64_t monotonic_ns();
// By which function: libc's, unless another is named.
using ReadClock = int (*)(clockid_t, timespec*);
void read_clock_by(ReadClock function);
// Until when what the process says that it has in flight, or waits for, is to be believed.
std::int64_t believed_until(const ProcessTime& time);
// How long a process has had work of a kind by `now`.
std::int64_t in_flight_ns(const InFlight& of, std::int64_t now);

// A piece of work, over: one word says of which card and kind, and how long it was (18 minutes at
// most).
struct Piece {
    std::int64_t start_ns;
    std::int64_t ns;
    int card;
    WorkKind kind;
};
std::uint64_t pack_piece(const Piece& piece);
Piece unpack_piece(std::int64_t start_ns, std::uint64_t what);

std::int64_t part_of(std::int64_t ns, Millionths part);

}  // namespace tessera::guard
