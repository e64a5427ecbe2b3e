#include "guard/base/used_keys.hpp"

namespace tessera::guard {

constinit std::atomic<std::uint64_t> used_keys[kUsedKeyPlaces] = {};

bool is_used_elsewhere(std::uint64_t key) {
    for (unsigned i = 1; i < kUsedKeyTries; i++) {
        const auto& place = used_keys[(used_key_place(key) + i) & (kUsedKeyPlaces - 1)];
        if (place.load(std::memory_order_relaxed) == key) return true;
    }
    return false;
}

void note_used(std::uint64_t key) {
    for (unsigned i = 0; i < kUsedKeyTries; i++) {
        auto& place = used_keys[(used_key_place(key) + i) & (kUsedKeyPlaces - 1)];
        std::uint64_t before = 0;
        if (place.compare_exchange_strong(before, key, std::memory_order_relaxed) || before == key)
            return;
    }
    used_keys[used_key_place(key)].store(key, std::memory_order_relaxed);
}

void forget_all_used() {
    for (std::atomic<std::uint64_t>& each : used_keys)
        each.store(0, std::memory_order_relaxed);
}

}  // namespace tessera::guard
