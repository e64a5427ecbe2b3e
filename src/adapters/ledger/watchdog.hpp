// Ends calls that wait on a socket for too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace tessera {

// A server that is stopped, or whose disk hangs, still has a kernel that acknowledges what arrives.
// No timeout of TCP or of libpq ends a call then, and the server's own timeouts do not run. The
// watchdog shuts down the socket, so the call returns with an error. Any thread may call.
class Watchdog {
  public:
    // While it exists, the socket is watched.
    class Watch {
      public:
        Watch(Watch&& other) noexcept : of_(std::exchange(other.of_, nullptr)), id_(other.id_) {}
        Watch& operator=(Watch&&) = delete;
        ~Watch() {
            if (of_ != nullptr) of_->end(id_);
        }

      private:
        friend Watchdog;
        Watch(Watchdog& of, std::uint64_t id) : of_(&of), id_(id) {}
        Watchdog* of_;
        std::uint64_t id_;
    };

    // A call ends after `limit`, or up to an eighth later.
    explicit Watchdog(std::chrono::milliseconds limit);

    // The socket stays open as long as the result exists. The watchdog outlives both.
    [[nodiscard]] Watch watch(int socket);

  private:
    struct Call {
        int socket = -1;
        std::chrono::steady_clock::time_point deadline;
    };

    void end(std::uint64_t id);
    void run(const std::stop_token& stop);

    const std::chrono::milliseconds limit_;
    Mutex mutex_;
    std::condition_variable_any never_;  // only for stopping
    std::uint64_t next_id_ TESSERA_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, Call> calls_ TESSERA_GUARDED_BY(mutex_);
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace tessera
