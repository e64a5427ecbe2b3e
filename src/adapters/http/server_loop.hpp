// The connections of a server: accepts them, polls all of them together, and gives each readable
// one to a thread. A connection that waits for its next request uses no thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>

#include "adapters/http/socket_stream.hpp"
#include "base/mutex.hpp"

namespace tessera {

// A connection, with what its server keeps between two requests.
struct ServedConnection {
    int fd = -1;
    SslPtr tls;                       // from its first byte on, if it uses TLS
    bool secured = false;             // the handshake is complete
    bool is_unauthenticated = false;  // is closed first if there are too many connections
    SteadyTime end_by;                // when it is closed if no request comes
};

class ServerLoop {
  public:
    struct Options {
        int threads = 1;
        std::size_t most_connections = 512;
        std::chrono::milliseconds sweep{5'000};  // interval of the checks for idle connections
        // The initial values of a connection: the time for its first byte, and
        // `is_unauthenticated`.
        std::chrono::milliseconds first_byte{120'000};
        bool unauthenticated = false;
        std::function<void()> on_sweep = [] {};  // called by the thread of run()
    };
    // Answers one request of a connection. True: the connection stays open for another. Called by
    // many threads at the same time, but by one at a time per connection.
    using Serve = std::function<bool(ServedConnection&)>;

    // Takes ownership of `listening`.
    ServerLoop(int listening, Options options, Serve serve);
    ~ServerLoop();
    ServerLoop(const ServerLoop&) = delete;
    ServerLoop& operator=(const ServerLoop&) = delete;

    // Runs until `stop`; then it closes the idle connections and waits for the calls of `serve`.
    void run(const std::stop_token& stop);
    // Signalled when run() stops.
    [[nodiscard]] const WakeUp& ending() const { return ending_; }

  private:
    void work();
    void accept_all();
    bool close_one_unauthenticated() TESSERA_REQUIRES(mutex_);
    void answer(int fd);
    void wait_for(ServedConnection connection, int operation) TESSERA_REQUIRES(mutex_);
    void watch(int fd, int operation);
    void end_idle(SteadyTime now);

    const int listening_;
    const Options options_;
    const Serve serve_;
    WakeUp ending_;
    int poll_ = -1;
    Mutex mutex_;
    std::map<int, ServedConnection> idle_ TESSERA_GUARDED_BY(mutex_);
    std::size_t connections_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
