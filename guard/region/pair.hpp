// A Pair as one atomic value: a version that grows with every change, and a word that belongs to
// it. Any thread of any process.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Its version and its word, of one moment. A version never repeats, so if it is the same before and
// after, it belongs to the word that was read between.
inline Pair load(const Pair& pair) {
    for (;;) {
        const std::uint64_t version = __atomic_load_n(&pair.version, __ATOMIC_ACQUIRE);
        const std::uint64_t value = __atomic_load_n(&pair.value, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&pair.version, __ATOMIC_ACQUIRE) == version) return {version, value};
    }
}

// Makes it `next` if it is still `seen`. `next.version` is larger than `seen.version`.
//
// Not std::atomic: for 16 bytes that calls libatomic, which a container may not have. Nor the
// compiler's builtin on x86-64: ThreadSanitizer replaces it with a lock that works in one process
// only.
inline bool replace(Pair& pair, const Pair& seen, const Pair& next) {
#if defined(__x86_64__)
    // NOLINTBEGIN(misc-const-correctness): the instruction writes them
    bool is_done = false;
    std::uint64_t version = seen.version;
    std::uint64_t value = seen.value;
    // NOLINTEND(misc-const-correctness)
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(is_done), "+m"(pair), "+a"(version), "+d"(value)
                     : "b"(next.version), "c"(next.value)
                     : "memory");
    return is_done;
#else
    __extension__ using Both = unsigned __int128;
    const auto both = [](const Pair& of) {
        return static_cast<Both>(of.value) << 64U | static_cast<Both>(of.version);
    };
    return __sync_bool_compare_and_swap(reinterpret_cast<Both*>(&pair), both(seen), both(next));
#endif
}

}  // namespace tessera::guard
