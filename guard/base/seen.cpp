#include "guard/base/seen.hpp"

namespace tessera::guard {

constinit std::atomic<std::uint64_t> seen_keys[kSeenKeys] = {};

bool is_seen_behind(std::uint64_t key) {
    for (unsigned i = 1; i < kSeenTries; i++) {
        const auto& place = seen_keys[(seen_place(key) + i) & (kSeenKeys - 1)];
        if (place.load(std::memory_order_relaxed) == key) return true;
    }
    return false;
}

void note_seen(std::uint64_t key) {
    for (unsigned i = 0; i < kSeenTries; i++) {
        auto& place = seen_keys[(seen_place(key) + i) & (kSeenKeys - 1)];
        std::uint64_t before = 0;
        if (place.compare_exchange_strong(before, key, std::memory_order_relaxed) || before == key)
            return;
    }
    seen_keys[seen_place(key)].store(key, std::memory_order_relaxed);
}

void forget_all_seen() {
    for (std::atomic<std::uint64_t>& each : seen_keys)
        each.store(0, std::memory_order_relaxed);
}

}  // namespace tessera::guard
