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

// A connection, and what its server keeps of it between two requests.
struct ServedConnection {
    int fd = -1;
    SslPtr tls;             // from its first byte on, where it speaks TLS
    bool secured = false;   // the handshake is done
    bool stranger = false;  // goes first where there are too many
    SteadyTime end_by;      // closed then, unless it has asked something
};

class ServerLoop {
  public:
    struct Options {
        int threads = 1;
        std::size_t most_connections = 512;
        std::chrono::milliseconds sweep{5'000};  // between two looks at who is idle too long
        // How a connection begins, as long as it has no say in it.
        std::chrono::milliseconds first_byte{120'000};
        bool strangers = false;
        std::function<void()> on_sweep = [] {};  // called by run()'s thread
    };
    // Answers what a connection asks. True: it may ask again. Called by many threads at once, by
    // one at a time for one connection.
    using Serve = std::function<bool(ServedConnection&)>;

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
    bool make_room();
    void answer(int fd);
    void wait_for(ServedConnection connection, int operation);
    void watch(int fd, int operation);
    void end_idle(SteadyTime now);

    const int listening_;
    const Options options_;
    const Serve serve_;
    WakeUp ending_;
    int poll_ = -1;
    std::mutex mutex_;
    std::map<int, ServedConnection> idle_;  // guarded by mutex_
    std::size_t connections_ = 0;           // guarded by mutex_
};

}  // namespace tessera
