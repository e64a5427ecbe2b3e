#include "adapters/shell/shell_session.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "adapters/os/random_bytes.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostBuffered = std::size_t{512} << 10;
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kMostLogged = 200;
constexpr int kNotRun = 255;  // as ssh

bool would_wait() {
    return errno == EAGAIN || errno == EINTR;
}

}  // namespace

ShellSession::ShellSession(ShellSocket socket, const std::string& secret, Clock::time_point now)
    : socket_(std::move(socket)),
      secret_(secret),
      peer_(peer_of(socket_->get())),
      nonce_(random_bytes(kNonceBytes)),
      deadline_(now + kHandshake),
      out_(std::string(kShellGreeting) + nonce_) {
    prepare_connection(socket_->get());
}

void ShellSession::add_items(std::vector<pollfd>& items) const {
    // The end of the connection is seen also while nothing is read.
    short events = POLLRDHUP;
    if (state_ == State::closing || input_.size() < kMostBuffered) events |= POLLIN;
    if (!out_.empty()) events |= POLLOUT;
    items.push_back({.fd = socket_->get(), .events = events, .revents = 0});
    const int input = input_.empty() ? -1 : child_.input.get();
    items.push_back({.fd = input, .events = POLLOUT, .revents = 0});
    const bool reads = !is_full() && state_ == State::running;
    for (const Descriptor* from : {&child_.output, &child_.errors})
        items.push_back({.fd = reads ? from->get() : -1, .events = POLLIN, .revents = 0});
}

bool ShellSession::handle(std::vector<pollfd>::const_iterator items, Clock::time_point now,
                          bool may_run) {
    const short socket = items[0].revents;
    // While the buffer was full, no output was read: its time begins now.
    if (is_full() && status_ && state_ == State::running) deadline_ = now + kLastOutput;
    if ((socket & POLLOUT) != 0 && !send()) return false;
    if ((socket & POLLIN) != 0 && !receive(may_run)) return false;
    // Whatever the peer sent before it ended is of no use: it does not see the result.
    if ((socket & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return false;
    if (items[1].revents != 0) write_input();
    if (items[2].revents != 0) read_output(child_.output, FrameType::output);
    if (items[3].revents != 0) read_output(child_.errors, FrameType::errors);
    finish(now);
    return state_ == State::running || now < deadline_;
}

std::optional<ShellSession::Clock::time_point> ShellSession::deadline() const {
    const bool waits = state_ != State::running || (status_ && !is_full());
    return waits ? std::optional(deadline_) : std::nullopt;
}

bool ShellSession::receive(bool may_run) {
    std::array<char, kPiece> piece{};
    const ssize_t got = ::recv(socket_->get(), piece.data(), piece.size(), 0);
    if (got < 0) return would_wait();
    if (got == 0) return false;
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    if (state_ == State::closing) return true;
    if (state_ != State::hello) {
        frames_.add(bytes);
        return take_frames(may_run);
    }
    hello_ += bytes;
    return take_hello() && take_frames(may_run);
}

bool ShellSession::take_hello() {
    if (hello_.size() < kHelloBytes) return true;
    const std::string_view hello(hello_);
    const std::string_view theirs = hello.substr(0, kNonceBytes);
    const std::string_view proof = hello.substr(kNonceBytes, kProofBytes);
    if (!is_shell_proof(proof, secret_, ShellSide::client, nonce_, theirs)) {
        refuse("it does not have the secret of this job");
        out_ += kRefusal;
        return send();
    }
    out_ += shell_proof(secret_, ShellSide::server, nonce_, theirs);
    frames_.add(hello.substr(kHelloBytes));
    state_ = State::command;
    has_proved_ = true;
    return send();
}

bool ShellSession::take_frames(bool may_run) {
    while (state_ == State::command || state_ == State::running) {
        auto frame = frames_.next();
        if (!frame) {
            refuse(frame.error().text);
            return false;
        }
        if (!*frame) return true;
        if ((*frame)->type == FrameType::command) {
            start((*frame)->payload, may_run);
        } else if ((*frame)->payload.empty()) {
            input_ended_ = true;
            if (input_.empty()) child_.input.close();
        } else if (child_.input.get() >= 0) {
            input_ += (*frame)->payload;
        }
    }
    return true;
}

void ShellSession::start(const std::string& command, bool may_run) {
    const auto started = may_run ? child_.start(command)
                                 : Result<>(fail(Code::unavailable, "too many commands run here"));
    if (started) {
        state_ = State::running;
        log_event(Event::shell_command_started,
                  {{"client", peer_}, {"command", command.substr(0, kMostLogged)}});
        return;
    }
    refuse(started.error().text);
    out_ += write_shell_frame(FrameType::errors, started.error().text + "\n");
    out_ += write_exit(kNotRun);
}

void ShellSession::refuse(std::string_view why) {
    log_event(Event::shell_client_refused, {{"client", peer_}, {"reason", why}});
    state_ = State::closing;
}

bool ShellSession::send() {
    if (out_.empty()) return true;
    const ssize_t sent = ::send(socket_->get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0) return would_wait();
    out_.erase(0, static_cast<std::size_t>(sent));
    return true;
}

void ShellSession::write_input() {
    const ssize_t wrote = ::write(child_.input.get(), input_.data(), input_.size());
    if (wrote >= 0) {
        input_.erase(0, static_cast<std::size_t>(wrote));
    } else if (!would_wait()) {
        // It reads no more: the rest is dropped, as by a pipe of a shell.
        input_.clear();
        child_.input.close();
    }
    if (input_.empty() && input_ended_) child_.input.close();
}

void ShellSession::read_output(Descriptor& from, FrameType type) {
    std::array<char, kPiece> piece{};
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got > 0) {
        out_ += write_shell_frame(type, {piece.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || !would_wait()) {
        from.close();
    }
}

void ShellSession::ended(int status, Clock::time_point now) {
    status_ = status;
    deadline_ = now + kLastOutput;
    log_event(Event::shell_command_ended, {{"client", peer_}, {"status", status}});
    finish(now);
}

bool ShellSession::is_full() const {
    return out_.size() >= kMostBuffered;
}

void ShellSession::finish(Clock::time_point now) {
    if (state_ == State::closing && out_.empty() && !is_shut_) {
        // The peer closes when it has read all. If we did, with input unread, the kernel would
        // drop what the peer has not read.
        ::shutdown(socket_->get(), SHUT_WR);
        is_shut_ = true;
        deadline_ = now + kHandshake;
    }
    if (state_ != State::running || !status_) return;
    const bool is_read = child_.output.get() < 0 && child_.errors.get() < 0;
    // A full buffer is no reason to drop output.
    if (!is_read && (now < deadline_ || is_full())) return;
    out_ += write_exit(*status_);
    state_ = State::closing;
    // A slow peer has as long as it keeps the connection.
    deadline_ = Clock::time_point::max();
}

}  // namespace tessera
