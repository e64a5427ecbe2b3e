#include "guard/compute/permit/reports.hpp"

#include "guard/base/locked.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {

Waiting::Waiting(int gpu) : time_(gpu_time(gpu)), since_(monotonic_ns()) {
    time_.waiting.fetch_add(1, std::memory_order_relaxed);
}

Waiting::~Waiting() {
    time_.waited_ns.fetch_add(monotonic_ns() - since_, std::memory_order_relaxed);
    time_.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void note_seen(int gpu, std::int64_t now) {
    gpu_time(gpu).seen_ns.store(now, std::memory_order_relaxed);
}

void note_in_flight(int gpu, WorkKind kind, std::int64_t since_ns) {
    gpu_time(gpu).in_flight[static_cast<int>(kind)].since_ns.store(since_ns,
                                                                   std::memory_order_relaxed);
}

void note_work(int gpu, WorkKind kind, Span work) {
    InFlight& mine = gpu_time(gpu).in_flight[static_cast<int>(kind)];
    const std::int64_t ns = work.end_ns - work.start_ns;
    mine.total_ns.store(mine.total_ns.load(std::memory_order_relaxed) + ns,
                        std::memory_order_relaxed);
    const OwnLog own = busy_log();
    const Locked lock(own.mutex);
    BusyIntervalLog& log = own.log;
    const std::uint64_t number = log.total.load(std::memory_order_relaxed);
    BusyIntervalLog::Entry& entry = log.entries[number % kLogEntries];
    entry.start_ns.store(work.start_ns, std::memory_order_relaxed);
    entry.what.store(pack_interval({work.start_ns, ns, gpu, kind}), std::memory_order_relaxed);
    log.total.store(number + 1, std::memory_order_release);
}

}  // namespace tessera::guard
