#include "guard/compute/permit/permit_timeout.hpp"

#include <algorithm>

#include "guard/compute/permit/gate.hpp"
#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestNs = 1'000'000'000;
constexpr std::int64_t kLongestNs = 10'000'000'000;

// Whether any believed process of the container has had work in flight since ns, on any GPU. A
// process that died just now is still believed. It lets one thread pass that need not pass.
bool is_any_in_flight_since(std::int64_t ns, std::int64_t now) {
    const Accounts& accounts = *process_slot().accounts;
    const int end = slots_end(accounts);
    for (int slot = 0; slot < end; slot++) {
        for (const ProcessTime& time : accounts.times[slot]) {
            if (now >= believed_until(time)) continue;
            for (const InFlight& of : time.in_flight) {
                const std::int64_t since = of.since_ns.load(std::memory_order_relaxed);
                if (since != 0 && since <= ns) return true;
            }
        }
    }
    return false;
}

}  // namespace

PermitTimeout::PermitTimeout(int gpu)
    : gpu_(gpu),
      since_ns_(monotonic_ns()),
      limit_ns_(std::clamp(debt_time_ns(gpu), kShortestNs, kLongestNs)) {}

bool PermitTimeout::is_over() const {
    const std::int64_t now = monotonic_ns();
    if (now < end_ns()) return false;
    std::atomic<std::int64_t>& last = process_slot().accounts->permit_timed_out_ns[gpu_];
    std::int64_t before = last.load();
    // A time in the future was written before the machine restarted, or is invalid data from the
    // tenant.
    const bool may_pass = before > now || now - before >= limit_ns_;
    return may_pass && is_any_in_flight_since(now - limit_ns_, now) &&
           last.compare_exchange_strong(before, now);
}

}  // namespace tessera::guard
