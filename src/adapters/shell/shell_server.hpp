// The server of tessera-mpi-shell: the main process of a worker of an MPI job, which runs the
// commands that the job's launcher sends. One thread; it owns all children of this process, and
// reaps also those that others left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <list>
#include <map>
#include <string>

#include "adapters/shell/shell_session.hpp"
#include "adapters/shell/shell_socket.hpp"

namespace tessera {

class ShellServer {
  public:
    static constexpr std::size_t kMostCommands = 128;     // at a time
    static constexpr std::size_t kMostConnections = 256;  // then the oldest stranger must go
    // Between SIGTERM and SIGKILL.
    static constexpr std::chrono::seconds kGrace{5};

    // Blocks SIGCHLD, SIGTERM and SIGINT in this thread, which reads them. unavailable, with the
    // reason.
    static Result<ShellServer> make(int port, std::string secret);

    [[nodiscard]] int port() const { return port_of(listener_->get()); }
    // Until SIGTERM or SIGINT, which ends all commands. Returns 128 and the signal.
    Result<int> run();

  private:
    using Clock = ShellSession::Clock;

    ShellServer(ShellSocket listener, ShellSocket signals, std::string secret);

    [[nodiscard]] int timeout_ms(Clock::time_point now) const;
    // The signal to stop, or 0.
    int read_signals();
    void accept(Clock::time_point now);
    void reap(Clock::time_point now);
    void handle(const std::vector<pollfd>& items, Clock::time_point now);
    void end_command(pid_t pid, Clock::time_point now);
    void kill_late(Clock::time_point now);
    void stop();

    ShellSocket listener_;
    ShellSocket signals_;
    std::string secret_;
    std::list<ShellSession> sessions_;  // the oldest first
    // Process groups of commands that lost their connection, and when they are killed.
    std::map<pid_t, Clock::time_point> ending_;
};

}  // namespace tessera
