#include "guard/compute/patience.hpp"

#include <algorithm>

#include "guard/compute/gate.hpp"
#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestNs = 1'000'000'000;
constexpr std::int64_t kLongestNs = 10'000'000'000;

// Of any of the container's processes that is believed, on any card. One that died just now is; it
// lets one thread pass where none need.
bool is_any_in_flight_since(std::int64_t ns, std::int64_t now) {
    const Accounts& accounts = *seat().accounts;
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

Patience::Patience(int card)
    : card_(card),
      since_ns_(monotonic_ns()),
      limit_ns_(std::clamp(debt_time_ns(card), kShortestNs, kLongestNs)) {}

bool Patience::is_over() const {
    const std::int64_t now = monotonic_ns();
    if (now < end_ns()) return false;
    std::atomic<std::int64_t>& last = seat().accounts->impatient_ns[card_];
    std::int64_t before = last.load();
    // One that is to come was written before this machine began anew, or is a tenant's nonsense.
    const bool may_pass = before > now || now - before >= limit_ns_;
    return may_pass && is_any_in_flight_since(now - limit_ns_, now) &&
           last.compare_exchange_strong(before, now);
}

}  // namespace tessera::guard
