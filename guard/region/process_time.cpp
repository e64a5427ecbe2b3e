#include "guard/region/process_time.hpp"

namespace tessera::guard {

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

constexpr unsigned kGpuBits = 8;
constexpr unsigned kKindBits = 8;
constexpr std::int64_t kMaxIntervalNs = (std::int64_t{1} << 40) - 1;

}  // namespace

std::uint64_t pack_interval(const WorkInterval& interval) {
    const std::int64_t ns = interval.ns < kMaxIntervalNs ? interval.ns : kMaxIntervalNs;
    return static_cast<std::uint64_t>(ns) << (kGpuBits + kKindBits) |
           static_cast<std::uint64_t>(interval.kind) << kGpuBits |
           static_cast<std::uint64_t>(interval.gpu);
}

WorkInterval unpack_interval(std::int64_t start_ns, std::uint64_t what) {
    return {start_ns, static_cast<std::int64_t>(what >> (kGpuBits + kKindBits)),
            static_cast<int>(what & 0xffU), static_cast<WorkKind>(what >> kGpuBits & 0xffU)};
}

}  // namespace tessera::guard
