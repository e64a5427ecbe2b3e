// Calls a function for several numbers at the same time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tessera {

// Calls `act` with each number below `count`, in `at_once` threads at most. Returns after the last
// call.
template <class Act>
void each_at_once(std::size_t count, std::size_t at_once, const Act& act) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    const std::size_t number = std::min(at_once, count);
    threads.reserve(number);
    for (std::size_t i = 0; i < number; ++i) {
        threads.emplace_back([&] {
            for (std::size_t mine = next++; mine < count; mine = next++)
                act(mine);
        });
    }
}

}  // namespace tessera
