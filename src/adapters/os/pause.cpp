#include "adapters/os/pause.hpp"

#include <condition_variable>

#include "base/mutex.hpp"

namespace tessera {

void pause_for(std::chrono::milliseconds duration, const std::stop_token& stop) {
    Mutex mutex;
    std::condition_variable_any wake;
    MutexLock lock(mutex);
    wake.wait_for(lock, stop, duration, [] { return false; });
}

}  // namespace tessera
