#include "adapters/os/pause.hpp"

#include <condition_variable>
#include <mutex>

namespace tessera {

void pause_for(std::chrono::milliseconds duration, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, duration, [] { return false; });
}

}  // namespace tessera
