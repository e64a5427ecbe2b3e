#include "guard/compute/outstanding.hpp"

#include <algorithm>

#include "guard/process/process.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

using Ends = std::atomic<std::int64_t>[kMaxProcesses];

Ends& ends_of(int card, WorkKind kind) {
    return seat().accounts->expected_end_ns[card][static_cast<int>(kind)];
}

// A tenant may have written any number; and a kernel that is longer is not paid for in full.
std::int64_t left_ns(std::int64_t end_ns, std::int64_t now) {
    return end_ns > now ? std::min(end_ns - now, kMaxDebtNs) : 0;
}

}  // namespace

std::int64_t expect_until(int card, WorkKind kind, std::int64_t ns, bool at_least) {
    std::atomic<std::int64_t>& mine = ends_of(card, kind)[seat().slot];
    std::int64_t before = mine.load(std::memory_order_relaxed);
    while (before != ns && (before < ns || !at_least) && !mine.compare_exchange_weak(before, ns)) {
    }
    return before;
}

void expect_again(int card, WorkKind kind, std::int64_t said_ns, std::int64_t before_ns) {
    ends_of(card, kind)[seat().slot].compare_exchange_strong(said_ns, before_ns);
}

void expect_nothing(int card, WorkKind kind) {
    std::atomic<std::int64_t>& mine = ends_of(card, kind)[seat().slot];
    if (mine.load(std::memory_order_relaxed) != 0) mine.store(0, std::memory_order_relaxed);
}

std::int64_t own_outstanding_ns(int card, WorkKind kind, std::int64_t now) {
    return left_ns(ends_of(card, kind)[seat().slot].load(), now);
}

std::int64_t others_outstanding_ns(int card, WorkKind kind, std::int64_t now) {
    const Seat mine = seat();
    const Ends& ends = ends_of(card, kind);
    const int end = slots_end(*mine.accounts);
    std::int64_t sum = 0;
    for (int slot = 0; slot < end; slot++)
        if (slot != mine.slot) sum += left_ns(ends[slot].load(), now);
    return sum;
}

}  // namespace tessera::guard
