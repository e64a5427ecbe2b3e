// What the process has met before: a function that was launched, a name that was looked up in a
// module. It is forgotten where a handle may become another's, and may be where there are very
// many: then the first time is looked at once more, which costs some questions to the driver and
// counts nothing twice.
//
// Any thread. On the way of every launch: no lock, and one comparison where the key is at its
// place.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::guard {

inline constexpr unsigned kSeenBits = 13;
inline constexpr unsigned kSeenKeys = 1U << kSeenBits;
// Keys of one place stand in the places behind it. Programs launch hundreds of functions in turn:
// two that would take each other's place would each time look like new ones.
inline constexpr unsigned kSeenTries = 8;

extern constinit std::atomic<std::uint64_t> seen_keys[kSeenKeys];

inline unsigned seen_place(std::uint64_t key) {
    return static_cast<unsigned>(key >> 4U ^ key >> (4U + kSeenBits)) & (kSeenKeys - 1);
}
// The same of the places behind the key's own.
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
