#include "guard/arbiter/reading.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "guard/region/account.hpp"
#include "guard/region/life.hpp"

namespace tessera::guard {
namespace {

bool read_at(int fd, void* into, std::size_t size, std::size_t offset) {
    return pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// The pieces of work that a process remembers, and what it has in flight.
bool read_spans(int fd, int slot, int card, std::int64_t now, ProcessReading& process) {
    FlightLog log = {};
    const std::size_t offset =
        offsetof(Accounts, logs) + static_cast<std::size_t>(slot) * sizeof(FlightLog);
    if (!read_at(fd, &log, sizeof log, offset)) return false;
    const std::uint64_t total = log.total.load();
    for (std::uint64_t back = 1; back <= std::uint64_t{kLogEntries} && back <= total; back++) {
        const FlightLog::Entry& entry = log.entries[(total - back) % kLogEntries];
        const Piece piece = unpack_piece(entry.start_ns.load(), entry.what.load());
        if (piece.card != card || static_cast<int>(piece.kind) >= kWorkKinds) continue;
        const std::int64_t end = std::min(piece.start_ns + piece.ns, now);
        process.spans[static_cast<int>(piece.kind)].push_back({piece.start_ns, end});
    }
    return true;
}

}  // namespace

bool read_times(int accounts_fd, int card, std::int64_t now, ContainerReading& reading) {
    std::uint32_t end = 0;
    if (!read_at(accounts_fd, &end, sizeof end, offsetof(Accounts, slots_end))) return false;
    const auto slots = static_cast<int>(std::min(end, std::uint32_t{kMaxProcesses}));
    for (int slot = 0; slot < slots; slot++) {
        CardTime time = {};
        const std::size_t offset = offsetof(Accounts, times) +
                                   static_cast<std::size_t>(slot) * sizeof(Accounts::times[0]) +
                                   static_cast<std::size_t>(card) * sizeof(CardTime);
        if (!read_at(accounts_fd, &time, sizeof time, offset)) return false;
        const bool is_open = time.waiting.load() != 0 || time.in_flight[0].since_ns.load() != 0 ||
                             time.in_flight[1].since_ns.load() != 0;
        const bool lives = is_open && is_lived_in(accounts_fd, slot);
        ProcessReading& process = reading.processes[slot];
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const InFlight& of = time.in_flight[kind];
            process.in_flight_ns[kind] = lives ? in_flight_ns(of, now) : of.total_ns.load();
            const std::int64_t since = of.since_ns.load();
            if (lives && since != 0 && since < now) process.spans[kind].push_back({since, now});
        }
        if (!read_spans(accounts_fd, slot, card, now, process)) return false;
        reading.waited_ns += time.waited_ns.load();
        reading.waits |= lives && time.waiting.load() != 0;
    }
    return true;
}

bool read_held(int accounts_fd, int card, HeldReading& reading) {
    Account account = {};
    const std::size_t offset =
        offsetof(Accounts, cards) + static_cast<std::size_t>(card) * sizeof(Account);
    if (!read_at(accounts_fd, &account, sizeof account, offset)) return false;
    reading = {held(account), account.refusals.load()};
    return true;
}

bool read_holders(int accounts_fd, int card, std::vector<Holder>& holders) {
    // A copy of the accounts as far as anybody is in them: what stands behind is never looked at.
    const auto copy = std::make_unique<Accounts>();
    std::uint32_t end = 0;
    if (!read_at(accounts_fd, &end, sizeof end, offsetof(Accounts, slots_end))) return false;
    const std::size_t slots = std::min(end, std::uint32_t{kMaxProcesses});
    if (!read_at(accounts_fd, copy.get(), offsetof(Accounts, slots) + slots * sizeof(Slot), 0))
        return false;
    for (int slot = 0; slot < static_cast<int>(slots); slot++) {
        const Granules granules = held_by(*copy, card, slot);
        if (granules == 0 || !is_lived_in(accounts_fd, slot)) continue;
        holders.push_back({copy->slots[slot].pid.load(), granules});
    }
    return true;
}

}  // namespace tessera::guard
