#include "simulator/common/in_parallel.hpp"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace tessera {

void in_parallel(std::size_t jobs, int threads, const std::function<void(std::size_t)>& carry_out) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr thrown;  // the first exception
    const auto work = [&] {
        try {
            for (std::size_t at = next++; at < jobs; at = next++)
                carry_out(at);
        } catch (...) {
            next = jobs;
            const std::scoped_lock lock(mutex);
            if (!thrown) thrown = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        for (int i = 1; i < threads; ++i)
            others.emplace_back(work);
        work();
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tessera
