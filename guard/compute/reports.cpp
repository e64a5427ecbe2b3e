#include "guard/compute/reports.hpp"

#include "guard/compute/timing.hpp"
#include "guard/process/locked.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {

Waiting::Waiting(int card) : time_(card_time(card)), since_(monotonic_ns()) {
    time_.waiting.fetch_add(1, std::memory_order_relaxed);
}

Waiting::~Waiting() {
    time_.waited_ns.fetch_add(monotonic_ns() - since_, std::memory_order_relaxed);
    time_.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void note_seen(int card, std::int64_t now) {
    card_time(card).seen_ns.store(now, std::memory_order_relaxed);
}

void note_in_flight(int card, WorkKind kind, std::int64_t since_ns) {
    card_time(card).in_flight[static_cast<int>(kind)].since_ns.store(since_ns,
                                                                     std::memory_order_relaxed);
}

void note_work(int card, WorkKind kind, Span work) {
    InFlight& mine = card_time(card).in_flight[static_cast<int>(kind)];
    const std::int64_t ns = work.end_ns - work.start_ns;
    mine.total_ns.store(mine.total_ns.load(std::memory_order_relaxed) + ns,
                        std::memory_order_relaxed);
    const OwnLog own = flight_log();
    const Locked lock(own.mutex);
    FlightLog& log = own.log;
    const std::uint64_t number = log.total.load(std::memory_order_relaxed);
    FlightLog::Entry& entry = log.entries[number % kLogEntries];
    entry.start_ns.store(work.start_ns, std::memory_order_relaxed);
    entry.what.store(pack_piece({work.start_ns, ns, card, kind}), std::memory_order_relaxed);
    log.total.store(number + 1, std::memory_order_release);
}

}  // namespace tessera::guard
