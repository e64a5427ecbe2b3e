#include "adapters/ledger/watchdog.hpp"

#include <sys/socket.h>

namespace tessera {

Watchdog::Watchdog(std::chrono::milliseconds limit)
    : limit_(limit), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Watchdog::Watch Watchdog::watch(int socket) {
    const MutexLock lock(mutex_);
    calls_.emplace(next_id_, Call{socket, std::chrono::steady_clock::now() + limit_});
    return {*this, next_id_++};
}

void Watchdog::end(std::uint64_t id) {
    const MutexLock lock(mutex_);
    calls_.erase(id);
}

void Watchdog::run(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        never_.wait_for(lock, stop, limit_ / 8, [] { return false; });
        const auto now = std::chrono::steady_clock::now();
        std::erase_if(calls_, [now](const auto& call) {
            const bool is_late = call.second.deadline <= now;
            if (is_late) ::shutdown(call.second.socket, SHUT_RDWR);
            return is_late;
        });
    }
}

}  // namespace tessera
