#include "adapters/shell/shell_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "adapters/shell/shell_socket.hpp"
#include "wire/shell/shell_protocol.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBuffered = std::size_t{256} << 10;
constexpr std::size_t kPiece = std::size_t{32} << 10;
constexpr std::chrono::seconds kConnect{10};
constexpr std::chrono::milliseconds kPause{500};
// For how long DNS may have the address of an earlier pod, which another job has now.
constexpr std::chrono::seconds kRefused{5};

Result<ShellSocket> connect_patiently(const ShellCall& call) {
    const auto end = Clock::now() + call.patience;
    const auto refusal_end = Clock::now() + kRefused;
    for (;;) {
        auto socket = connect_shell(call.host, call.port, call.secret, kConnect);
        if (socket) return socket;
        const bool is_refused = socket.error().code == Code::permission_denied;
        if (is_refused && Clock::now() >= refusal_end) return socket;
        if (!is_refused && Clock::now() + kPause >= end) {
            return fail(Code::unavailable,
                        "not reached in " + std::to_string(call.patience.count()) + " seconds: " +
                            socket.error().text + "; see whether the worker runs: tessera get JOB");
        }
        std::this_thread::sleep_for(kPause);
    }
}

// All of it, to a file that may wait.
Result<> write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(file, text.data(), text.size());
        if (wrote < 0 && errno == EAGAIN) {
            pollfd item{.fd = file, .events = POLLOUT, .revents = 0};
            ::poll(&item, 1, -1);
        } else if (wrote < 0 && errno != EINTR) {
            return fail(Code::unavailable,
                        std::string("its output cannot be written: ") + std::strerror(errno));
        }
        if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
}

class Call {
  public:
    explicit Call(ShellSocket socket, const std::string& command)
        : socket_(std::move(socket)), out_(write_shell_frame(FrameType::command, command)) {}

    Result<int> run() {
        for (;;) {
            std::array<pollfd, 2> items = {
                {{.fd = socket_->get(), .events = POLLIN, .revents = 0},
                 {.fd = reads_input() ? 0 : -1, .events = POLLIN, .revents = 0}}};
            if (!out_.empty()) items[0].events |= POLLOUT;
            if (::poll(items.data(), items.size(), -1) < 0 && errno != EINTR)
                return fail(Code::internal, std::string("poll: ") + std::strerror(errno));
            if ((items[0].revents & POLLOUT) != 0) TRY_VOID(send());
            if (items[1].revents != 0) read_input();
            if ((items[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
            TRY(const bool is_done, receive());
            if (is_done) return status_;
        }
    }

  private:
    [[nodiscard]] bool reads_input() const { return !input_ended_ && out_.size() < kMostBuffered; }

    Result<> send() {
        const ssize_t sent = ::send(socket_->get(), out_.data(), out_.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            out_.erase(0, static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != ECONNRESET) {
            return fail(Code::unavailable, std::string("send: ") + std::strerror(errno));
        } else if (errno == EPIPE || errno == ECONNRESET) {
            out_.clear();  // what the worker sent may still be read
            input_ended_ = true;
        }
        return {};
    }

    // An error counts as the end: mpirun may start us without input.
    void read_input() {
        std::array<char, kPiece> piece{};
        const ssize_t got = ::read(0, piece.data(), piece.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        input_ended_ = got <= 0;
        out_ += write_shell_frame(FrameType::input,
                                  {piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0});
    }

    // Whether the exit status came.
    Result<bool> receive() {
        std::array<char, kPiece> piece{};
        const ssize_t got = ::recv(socket_->get(), piece.data(), piece.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
        if (got <= 0)
            return fail(Code::unavailable, "the connection was lost before the command ended");
        frames_.add({piece.data(), static_cast<std::size_t>(got)});
        for (;;) {
            TRY(const auto frame, frames_.next());
            if (!frame) return false;
            if (frame->type == FrameType::exit) {
                status_ = static_cast<unsigned char>(frame->payload[0]);
                return true;
            }
            TRY_VOID(write_all(frame->type == FrameType::output ? 1 : 2, frame->payload));
        }
    }

    ShellSocket socket_;
    std::string out_;
    bool input_ended_ = false;
    ShellFrameReader frames_{ShellSide::server};
    int status_ = 0;
};

}  // namespace

Result<int> call_shell(const ShellCall& call) {
    ::signal(SIGPIPE, SIG_IGN);
    if (call.command.size() > kMostPayload) {
        return fail(Code::invalid_argument,
                    "the command has more than " + std::to_string(kMostPayload) + " bytes");
    }
    auto socket = connect_patiently(call);
    if (!socket) return fail(socket.error().in(call.host));
    auto status = Call(*std::move(socket), call.command).run();
    if (!status) return fail(status.error().in(call.host));
    return status;
}

}  // namespace tessera
