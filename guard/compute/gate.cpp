#include "guard/compute/gate.hpp"

#include <time.h>

#include <algorithm>

#include "guard/compute/balance_now.hpp"
#include "guard/compute/order.hpp"
#include "guard/compute/outstanding.hpp"
#include "guard/compute/reports.hpp"
#include "guard/compute/timing.hpp"
#include "guard/process/locked.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestSleepNs = 50'000;
constexpr std::int64_t kLongestSleepNs = 5'000'000;
constexpr std::int64_t kYieldNs = 500'000;  // while it is another's turn

// What the container may give the card beyond its balance: where next to nobody else wants the
// card, enough that it never stands idle between two kernels. It cannot be called back when
// somebody does: so it is little where somebody did of late, and may just rest.
std::int64_t credit_ns(const Granted& granted) {
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

// May more work go to the card?
struct Question {
    int card;
    WorkKind kind;
    std::int64_t now;
    Granted granted;  // with the rate of now
    std::int64_t balance_ns;
    std::int64_t own_ns;    // that the card is about to work for the process anyway,
    std::int64_t about_ns;  // and with what it would get

    [[nodiscard]] std::int64_t given_ns() const { return own_ns + about_ns; }
    [[nodiscard]] bool is_long() const { return given_ns() >= kLeastOutstandingNs; }
};

Question question(int card, const Asking& asking, const Granted& granted, std::int64_t now) {
    const std::int64_t own =
        asking.may_others_be ? outstanding_ns(card, asking.kind, seat().slot, now) : 0;
    return {card,
            asking.kind,
            now,
            granted,
            balance_ns(card, asking.kind, granted, now),
            std::max(asking.ahead_ns, own),
            asking.about_ns};
}

// By how much the balance falls short of what is outstanding; less than 0: it does not.
std::int64_t missing_ns(const Question& of) {
    const std::int64_t others = others_outstanding_ns(of.card, of.kind, of.now);
    const Millionths part = of.granted.of[static_cast<int>(of.kind)].part;
    return part_of(of.own_ns + others, part) - credit_ns(of.granted) - of.balance_ns;
}

// How long until there may be a turn for this process; 0: there is one.
std::int64_t time_until_turn(const Question& of) {
    const std::int64_t missing = missing_ns(of);
    if (missing >= 0 || of.is_long()) note_had(of.card, of.kind, of.now);
    if (missing >= 0) return sleep_for(missing + 1, of.granted.rate);
    // Where each has a balance of its own they need not take turns.
    if (!of.is_long() || is_late(of.granted, of.now)) return 0;
    return is_anothers_turn(of.card, of.kind, of.now) ? kYieldNs : 0;
}

// Takes the turn that there is, and returns 0; or how long until there may be another. It is said
// before it is looked again whether others have: of those who ask at once none has his turn, at
// worst, and not all.
std::int64_t take(const Question& of) {
    const std::int64_t until = of.is_long() ? of.now + of.given_ns() : 0;
    const std::int64_t before = expect(of.card, of.kind, until, of.now);
    if (const std::int64_t missing = of.is_long() ? missing_ns(of) : -1; missing >= 0) {
        expect(of.card, of.kind, before, of.now);
        return sleep_for(missing + 1, of.granted.rate);
    }
    timing(of.card).flights[static_cast<int>(of.kind)].promised++;
    return 0;
}

}  // namespace

bool is_timed(int card) {
    return card_limit(card).is_timed.load(std::memory_order_relaxed) != 0;
}

std::int64_t take_turn(int card, const Asking& asking) {
    Granted granted = read_grant(card_limit(card).grant);
    if (granted.as_of_ns == 0 || !is_timed(card)) return 0;
    const std::int64_t now = monotonic_ns();
    note_seen(card, now);
    granted.rate = rate_of(card, granted, now);
    const Locked lock(timing(card).mutex);
    const Question asked = question(card, asking, granted, now);
    std::int64_t ns = time_until_turn(asked);
    if (ns == 0) ns = take(asked);
    if (ns != 0) {
        stand_in_line(card, asking.kind, now);
    } else {
        leave_line(card, asking.kind);
    }
    return ns;
}

std::int64_t debt_time_ns(int card) {
    const Granted granted = read_grant(card_limit(card).grant);
    const Millionths rate = rate_of(card, granted, monotonic_ns());
    return rate == 0 ? kNever : kMaxDebtNs * kWhole / rate;
}

void sleep_ns(std::int64_t ns) {
    const timespec sleep = {ns / 1'000'000'000, ns % 1'000'000'000};
    const Uncancelled uncancelled;
    nanosleep(&sleep, nullptr);
}

}  // namespace tessera::guard
