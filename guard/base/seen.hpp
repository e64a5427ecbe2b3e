// What the process has met before: a function that was launched, or a name that was looked up in a
// module. Keys are forgotten when a handle may be used again, and may be forgotten if there are
// very many. Then the first use is measured once more. This costs some calls to the driver and
// charges nothing twice.
//
// Any thread. Every launch uses this: no lock, and one comparison if the key is at its first place.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::guard {

inline constexpr unsigned kSeenBits = 13;
inline constexpr unsigned kSeenKeys = 1U << kSeenBits;
// Keys with the same place use the places behind it. Programs launch hundreds of functions in turn:
// two keys that replace each other would look new each time.
inline constexpr unsigned kSeenTries = 8;

extern constinit std::atomic<std::uint64_t> seen_keys[kSeenKeys];

inline unsigned seen_place(std::uint64_t key) {
    return static_cast<unsigned>(key >> 4U ^ key >> (4U + kSeenBits)) & (kSeenKeys - 1);
}
// The same for the places behind the key's own.
bool is_seen_behind(std::uint64_t key);

// 0, which is no handle, is always known.
inline bool is_seen(std::uint64_t key) {
    if (seen_keys[seen_place(key)].load(std::memory_order_relaxed) == key) [[likely]]
        return true;
    return is_seen_behind(key);
}
void note_seen(std::uint64_t key);
void forget_all_seen();

}  // namespace tessera::guard
