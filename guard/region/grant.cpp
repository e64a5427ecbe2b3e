#include "guard/region/grant.hpp"

#include <time.h>

namespace tessera::guard {

// Who dies while he writes leaves it odd; the next to write makes it even again. Readers do not
// wait for him: after some tries they take what is there, which is wrong for one tick.
Granted read_grant(const Grant& grant) {
    constexpr int kTries = 100;
    Granted read = {};
    for (int tries = 0; tries < kTries; tries++) {
        const std::uint32_t turn = grant.turn.load(std::memory_order_acquire);
        read.as_of_ns = grant.as_of_ns.load(std::memory_order_relaxed);
        read.rate = grant.rate.load(std::memory_order_relaxed);
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const Grant::OfKind& of = grant.of[kind];
            read.of[kind] = {of.balance_ns.load(std::memory_order_relaxed),
                             of.part.load(std::memory_order_relaxed)};
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        if (turn % 2 == 0 && grant.turn.load(std::memory_order_relaxed) == turn) break;
    }
    return read;
}

void write_grant(Grant& grant, const Granted& granted) {
    const std::uint32_t turn = grant.turn.load(std::memory_order_relaxed) | 1U;
    grant.turn.store(turn, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    grant.as_of_ns.store(granted.as_of_ns, std::memory_order_relaxed);
    grant.rate.store(granted.rate, std::memory_order_relaxed);
    for (int kind = 0; kind < kWorkKinds; kind++) {
        Grant::OfKind& of = grant.of[kind];
        of.balance_ns.store(granted.of[kind].balance_ns, std::memory_order_relaxed);
        of.part.store(granted.of[kind].part, std::memory_order_relaxed);
    }
    grant.turn.store(turn + 1, std::memory_order_release);
}

std::int64_t monotonic_ns() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
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
