#include "guard/compute/permit/gate.hpp"

#include <time.h>

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/compute/permit/balance_now.hpp"
#include "guard/compute/permit/order.hpp"
#include "guard/compute/permit/outstanding.hpp"
#include "guard/compute/permit/reports.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestSleepNs = 50'000;
constexpr std::int64_t kLongestSleepNs = 5'000'000;
constexpr std::int64_t kYieldNs = 500'000;  // while another process has the permit

// The work that the container may give the GPU beyond its balance. If almost no other container
// wants the GPU, this is enough that the GPU is never idle between two kernels. Launched work
// cannot be called back when another container wants the GPU. So the budget is small if another
// container wanted it recently, because that one may only be pausing.
std::int64_t burst_budget_ns(const Granted& granted) {
    constexpr Millionths kNearlyAll = kWhole - kWhole / 100;
    constexpr std::int64_t kAloneNowNs = 3'000'000;
    constexpr std::int64_t kAloneNs = 100'000'000;
    if (granted.rate >= kAloneRate) return kAloneNs;
    return granted.rate >= kNearlyAll ? kAloneNowNs : 0;
}

std::int64_t sleep_for(std::int64_t missing_ns, Millionths rate) {
    if (rate == 0) return kLongestSleepNs;
    __extension__ using Wide = __int128;
    const auto ns = static_cast<std::int64_t>(static_cast<Wide>(missing_ns) * kWhole / rate);
    if (ns < kShortestSleepNs) return kShortestSleepNs;
    return ns < kLongestSleepNs ? ns : kLongestSleepNs;
}

// May more work go to the GPU?
struct Question {
    int gpu;
    WorkKind kind;
    std::int64_t now;
    Granted granted;  // with the current rate
    std::int64_t balance_ns;
    std::int64_t own_ns;    // the work that the process has already queued,
    std::int64_t about_ns;  // and the work that it would get

    [[nodiscard]] std::int64_t given_ns() const { return own_ns + about_ns; }
    [[nodiscard]] bool is_long() const { return given_ns() >= kLeastOutstandingNs; }
};

Question question(int gpu, const PermitRequest& request, const Granted& granted, std::int64_t now) {
    const std::int64_t own =
        request.may_others_be ? outstanding_ns(gpu, request.kind, process_slot().slot, now) : 0;
    return {gpu,
            request.kind,
            now,
            granted,
            balance_ns(gpu, request.kind, granted, now),
            std::max(request.ahead_ns, own),
            request.about_ns};
}

// By how much the balance is below the outstanding work; less than 0: it is above.
std::int64_t missing_ns(const Question& of) {
    const std::int64_t others = others_outstanding_ns(of.gpu, of.kind, of.now);
    const Millionths part = of.granted.of[static_cast<int>(of.kind)].part;
    return part_of(of.own_ns + others, part) - burst_budget_ns(of.granted) - of.balance_ns;
}

// How long until this process may get a permit; 0: it may have one now.
std::int64_t time_until_permit(const Question& of) {
    const std::int64_t missing = missing_ns(of);
    if (missing >= 0 || of.is_long()) note_had(of.gpu, of.kind, of.now);
    if (missing >= 0) return sleep_for(missing + 1, of.granted.rate);
    // If each process has a balance of its own, they need not take turns.
    if (!of.is_long() || is_late(of.granted, of.now)) return 0;
    return is_permitted_to_another(of.gpu, of.kind, of.now) ? kYieldNs : 0;
}

// Takes the available permit and returns 0, or returns how long until there may be another one. It
// first publishes its own expected work, and then checks again whether others have done so. If
// several processes ask at the same time, at worst none of them gets a permit, but never all of
// them.
std::int64_t take(const Question& of) {
    const std::int64_t until = of.is_long() ? of.now + of.given_ns() : 0;
    const std::int64_t before = expect(of.gpu, of.kind, until, of.now);
    if (const std::int64_t missing = of.is_long() ? missing_ns(of) : -1; missing >= 0) {
        expect(of.gpu, of.kind, before, of.now);
        return sleep_for(missing + 1, of.granted.rate);
    }
    timing(of.gpu).busy_intervals[static_cast<int>(of.kind)].permits++;
    return 0;
}

}  // namespace

bool is_timed(int gpu) {
    return gpu_limit(gpu).is_timed.load(std::memory_order_relaxed) != 0;
}

std::int64_t acquire_permit(int gpu, const PermitRequest& request) {
    Granted granted = read_grant(gpu_limit(gpu).grant);
    if (granted.as_of_ns == 0 || !is_timed(gpu)) return 0;
    const std::int64_t now = monotonic_ns();
    note_seen(gpu, now);
    granted.rate = rate_of(gpu, granted, now);
    const Locked lock(timing(gpu).mutex);
    const Question asked = question(gpu, request, granted, now);
    std::int64_t ns = time_until_permit(asked);
    if (ns == 0) ns = take(asked);
    if (ns != 0) {
        enqueue(gpu, request.kind, now);
    } else {
        dequeue(gpu, request.kind);
    }
    return ns;
}

std::int64_t debt_time_ns(int gpu) {
    const Granted granted = read_grant(gpu_limit(gpu).grant);
    const Millionths rate = rate_of(gpu, granted, monotonic_ns());
    return rate == 0 ? kNever : kMaxDebtNs * kWhole / rate;
}

void sleep_ns(std::int64_t ns) {
    const timespec sleep = {ns / 1'000'000'000, ns % 1'000'000'000};
    const Uncancelled uncancelled;
    nanosleep(&sleep, nullptr);
}

}  // namespace tessera::guard
