// The keys that the process has used before: handles of functions that were launched, and hashes of
// names that were looked up in modules. The guard measures only the first use of a key
// (process/driver_memory.hpp). All keys are forgotten when the driver may give a handle to another
// object. One key may be forgotten if there are very many. Its next use is measured again, which
// costs some calls to the driver and charges nothing twice.
//
// A hash set with linear probing. Any thread. Every launch uses this: no lock, and one comparison
// if the key is at its first place.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::guard {

inline constexpr unsigned kUsedKeyBits = 13;
inline constexpr unsigned kUsedKeyPlaces = 1U << kUsedKeyBits;
// How many places a key may have: its first place, and those that follow it. Programs launch
// hundreds of functions in turn: two keys that replace each other would look new each time.
inline constexpr unsigned kUsedKeyTries = 8;

extern constinit std::atomic<std::uint64_t> used_keys[kUsedKeyPlaces];

inline unsigned used_key_place(std::uint64_t key) {
    return static_cast<unsigned>(key >> 4U ^ key >> (4U + kUsedKeyBits)) & (kUsedKeyPlaces - 1);
}
// is_used() for the key's other places.
bool is_used_elsewhere(std::uint64_t key);

// 0, which is no handle, counts as used while one of its places is empty.
inline bool is_used(std::uint64_t key) {
    if (used_keys[used_key_place(key)].load(std::memory_order_relaxed) == key) [[likely]]
        return true;
    return is_used_elsewhere(key);
}
void note_used(std::uint64_t key);
void forget_all_used();

}  // namespace tessera::guard
