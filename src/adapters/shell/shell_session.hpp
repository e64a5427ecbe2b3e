// One connection of a client to the server of tessera-mpi-shell, from its greeting to the exit
// status of its command. Used by one thread, which polls.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "adapters/shell/shell_child.hpp"
#include "adapters/shell/shell_socket.hpp"
#include "wire/shell/shell_protocol.hpp"

namespace tessera {

class ShellSession {
  public:
    using Clock = std::chrono::steady_clock;

    // A peer that has not sent its command by then is disconnected.
    static constexpr std::chrono::seconds kHandshake{20};
    // After the command, how long its output is awaited: a process that it left behind may keep
    // the pipes open.
    static constexpr std::chrono::seconds kLastOutput{1};

    // `secret` outlives this.
    ShellSession(ShellSocket socket, const std::string& secret, Clock::time_point now);

    // What to poll; handle() gets the same items, with what poll() found. A full buffer pauses the
    // side that fills it.
    void add_items(std::vector<pollfd>& items) const;
    // `may_run`: whether a further command may start. Returns false when the session has ended.
    bool handle(std::vector<pollfd>::const_iterator items, Clock::time_point now, bool may_run);
    static constexpr int kItems = 4;

    // Its command has ended.
    void ended(int status, Clock::time_point now);

    // When to call handle() even if nothing happens.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    [[nodiscard]] bool is_running() const { return child_.pid > 0 && !status_; }
    // Whether the peer has not proved yet that it has the secret.
    [[nodiscard]] bool is_stranger() const { return !has_proved_; }
    [[nodiscard]] pid_t pid() const { return child_.pid; }

  private:
    enum class State { hello, command, running, closing };

    bool receive(bool may_run);
    bool take_hello();
    bool take_frames(bool may_run);
    void start(const std::string& command, bool may_run);
    bool send();
    void write_input();
    void read_output(Descriptor& from, FrameType type);
    [[nodiscard]] bool is_full() const;
    void finish(Clock::time_point now);
    void refuse(std::string_view why);

    ShellSocket socket_;
    const std::string& secret_;
    const std::string peer_;
    const std::string nonce_;
    State state_ = State::hello;
    bool has_proved_ = false;
    Clock::time_point deadline_;
    std::string hello_;
    ShellFrameReader frames_{ShellSide::client};
    std::string out_;    // to the peer
    std::string input_;  // to the command
    bool input_ended_ = false;
    bool is_shut_ = false;  // nothing more is sent
    ShellChild child_;
    std::optional<int> status_;
};

}  // namespace tessera
