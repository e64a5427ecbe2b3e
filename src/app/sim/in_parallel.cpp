#include "app/sim/in_parallel.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace tessera {

void in_parallel(std::size_t jobs, int threads, const std::function<void(std::size_t)>& carry_out) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < jobs; at = next++)
            carry_out(at);
    };
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i)
        others.emplace_back(work);
    work();
}

}  // namespace tessera
