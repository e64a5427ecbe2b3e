#include "guard/region/grant.hpp"

#include <time.h>

namespace tessera::guard {

// A copy is written again only when the other has become right, so what was read between two looks
// at the same turn is whole. Each part is written with release and read with acquire: none is seen
// that is newer than the turn before it, or older than the turn behind.
Granted read_grant(const Grant& grant) {
    for (;;) {
        const std::uint32_t turn = grant.turn.load(std::memory_order_acquire);
        const Grant::Copy& copy = grant.copies[turn % 2];
        Granted read = {copy.as_of_ns.load(std::memory_order_acquire),
                        copy.rate.load(std::memory_order_acquire),
                        {}};
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const Grant::OfKind& of = copy.of[kind];
            read.of[kind] = {of.balance_ns.load(std::memory_order_acquire),
                             of.part.load(std::memory_order_acquire)};
        }
        if (grant.turn.load(std::memory_order_relaxed) == turn) return read;
    }
}

// Who dies in the middle has changed nothing.
void write_grant(Grant& grant, const Granted& granted) {
    const std::uint32_t turn = grant.turn.load(std::memory_order_relaxed) + 1;
    Grant::Copy& copy = grant.copies[turn % 2];
    copy.as_of_ns.store(granted.as_of_ns, std::memory_order_release);
    copy.rate.store(granted.rate, std::memory_order_release);
    for (int kind = 0; kind < kWorkKinds; kind++) {
        Grant::OfKind& of = copy.of[kind];
        of.balance_ns.store(granted.of[kind].balance_ns, std::memory_order_release);
        of.part.store(granted.of[kind].part, std::memory_order_release);
    }
    grant.turn.store(turn, std::memory_order_release);
}

namespace {

constinit std::atomic<ReadClock> read_clock = &clock_gettime;

}  // namespace

void read_clock_by(ReadClock function) {
    read_clock.store(function, std::memory_order_relaxed);
}

std::int64_t monotonic_ns() {
    timespec now = {};
    read_clock.load(std::memory_order_relaxed)(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// What a tenant writes may be any number.
std::int64_t believed_until(const ProcessTime& time) {
    const std::int64_t seen = time.seen_ns.load(std::memory_order_relaxed);
    return seen < INT64_MAX - kUnseenNs ? seen + kUnseenNs : INT64_MAX;
}

std::int64_t in_flight_ns(const InFlight& of, std::int64_t now) {
    const std::int64_t since = of.since_ns.load(std::memory_order_relaxed);
    const std::int64_t open = since != 0 && since < now ? now - since : 0;
    return of.total_ns.load(std::memory_order_relaxed) + open;
}

namespace {

constexpr unsigned kCardBits = 8;
constexpr unsigned kKindBits = 8;
constexpr std::int64_t kMaxPieceNs = (std::int64_t{1} << 40) - 1;

}  // namespace

std::uint64_t pack_piece(const Piece& piece) {
    const std::int64_t ns = piece.ns < kMaxPieceNs ? piece.ns : kMaxPieceNs;
    return static_cast<std::uint64_t>(ns) << (kCardBits + kKindBits) |
           static_cast<std::uint64_t>(piece.kind) << kCardBits |
           static_cast<std::uint64_t>(piece.card);
}

Piece unpack_piece(std::int64_t start_ns, std::uint64_t what) {
    return {start_ns, static_cast<std::int64_t>(what >> (kCardBits + kKindBits)),
            static_cast<int>(what & 0xffU), static_cast<WorkKind>(what >> kCardBits & 0xffU)};
}

std::int64_t part_of(std::int64_t ns, Millionths part) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(ns) * part / kWhole);
}

}  // namespace tessera::guard
