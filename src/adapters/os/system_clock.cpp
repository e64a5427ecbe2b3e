#include "adapters/os/system_clock.hpp"

#include <thread>

#include "adapters/os/pause.hpp"

namespace tessera {

std::int64_t SystemClock::unix_ns() const {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::chrono::nanoseconds SystemClock::steady() const {
    return std::chrono::steady_clock::now().time_since_epoch();
}

void SystemClock::sleep_for(std::chrono::milliseconds duration) {
    std::this_thread::sleep_for(duration);
}

void SystemClock::sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) {
    pause_for(duration, stop);
}

}  // namespace tessera
