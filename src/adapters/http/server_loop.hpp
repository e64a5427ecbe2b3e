// The connections of a server: accepts them, waits for all of them at once, and gives each that has
// something to read to a thread. One that waits for its next request holds no thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>

#include "adapters/http/socket_stream.hpp"

namespace tessera {

class ServerLoop {
  public:
    struct Options {
        int threads = 1;
        std::size_t most_connections = 512;  // a further one is closed at once
        std::chrono::seconds idle{120};      // a connection that asks nothing is closed
    };
    // Answers what a connection asks. True: it may ask again. Called by many threads at once, by
    // one at a time for one connection.
    using Serve = std::function<bool(int fd)>;

    // Takes over `listening`.
    ServerLoop(int listening, Options options, Serve serve);
    ~ServerLoop();
    ServerLoop(const ServerLoop&) = delete;
    ServerLoop& operator=(const ServerLoop&) = delete;

    // Until `stop`: closes the idle connections then, and waits for the calls of `serve`.
    void run(const std::stop_token& stop);
    // Signalled when the end has come.
    [[nodiscard]] const WakeUp& ending() const { return ending_; }

  private:
    void work();
    void accept_all();
    void answer(int fd);
    void wait_for(int fd, int operation);
    void watch(int fd, int operation);
    void end_idle(SteadyTime before);

    const int listening_;
    const Options options_;
    const Serve serve_;
    WakeUp ending_;
    int poll_ = -1;
    std::mutex mutex_;
    std::map<int, SteadyTime> idle_;  // since when; guarded by mutex_
    std::size_t connections_ = 0;     // guarded by mutex_
};

}  // namespace tessera
