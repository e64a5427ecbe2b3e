#include "guard/compute/permit/outstanding.hpp"

#include <algorithm>

#include "guard/process/process.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

using Ends = std::atomic<std::int64_t>[kMaxProcesses];

Ends& ends_of(int gpu, WorkKind kind) {
    return process_slot().accounts->expected_end_ns[gpu][static_cast<int>(kind)];
}

// A tenant may have written any number.
std::int64_t left_ns(std::int64_t end_ns, std::int64_t now) {
    return end_ns > now && end_ns - now <= kMaxDebtNs ? end_ns - now : 0;
}

// In a live process that has work, the polling thread updates seen_ns every 2 ms.
bool is_silent(const ProcessTime& time, std::int64_t now) {
    constexpr std::int64_t kSilentNs = 250'000'000;
    return now - time.seen_ns.load(std::memory_order_relaxed) > kSilentNs;
}

}  // namespace

std::int64_t expect(int gpu, WorkKind kind, std::int64_t end_ns, std::int64_t now) {
    return ends_of(gpu, kind)[process_slot().slot].exchange(std::min(end_ns, now + kMaxDebtNs));
}

void expect_nothing(int gpu, WorkKind kind) {
    std::atomic<std::int64_t>& mine = ends_of(gpu, kind)[process_slot().slot];
    if (mine.load(std::memory_order_relaxed) != 0) mine.store(0, std::memory_order_relaxed);
}

std::int64_t outstanding_ns(int gpu, WorkKind kind, int slot, std::int64_t now) {
    const std::int64_t left = left_ns(ends_of(gpu, kind)[slot].load(), now);
    return left != 0 && !is_silent(process_slot().accounts->times[slot][gpu], now) ? left : 0;
}

std::int64_t others_outstanding_ns(int gpu, WorkKind kind, std::int64_t now) {
    const ProcessSlot mine = process_slot();
    const int end = slots_end(*mine.accounts);
    std::int64_t sum = 0;
    for (int slot = 0; slot < end; slot++) {
        if (slot != mine.slot) sum += outstanding_ns(gpu, kind, slot, now);
    }
    return sum;
}

}  // namespace tessera::guard
