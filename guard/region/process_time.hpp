// What a process says of its time on a card. What a tenant writes may be any number.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

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

}  // namespace tessera::guard
