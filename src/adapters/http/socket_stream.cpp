#include "adapters/http/socket_stream.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace tessera {

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TESSERA_CHECK(fd_ >= 0, "an eventfd can be made");
}
WakeUp::~WakeUp() {
    ::close(fd_);
}
void WakeUp::signal() {
    signalled_ = true;
    (void)::eventfd_write(fd_, 1);
}

SocketStream::SocketStream(int fd, SslPtr ssl) : fd_(fd), ssl_(std::move(ssl)) {}

SocketStream::~SocketStream() {
    // Sends TLS's closing message; it may be lost.
    if (ssl_ && !write_failed_) SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

void SocketStream::start(const Limits& limits) {
    limits_ = limits;
    end_by_ = std::chrono::steady_clock::now() + limits.whole;
    answering_ = woken_ = write_failed_ = false;
}

void SocketStream::shorten() {
    woken_ = true;
    end_by_ = std::min(end_by_, std::chrono::steady_clock::now() + limits_.grace);
}

// False if the time is over or a wake-up stops the exchange.
bool SocketStream::wait(short events, bool out) {
    while (true) {
        // An answer in progress is finished.
        const bool listen =
            limits_.wake != nullptr && !woken_ && (!out || limits_.grace.count() == 0);
        std::array<pollfd, 2> entries{
            {{fd_, events, 0}, {listen ? limits_.wake->fd() : -1, POLLIN, 0}}};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            end_by_ - std::chrono::steady_clock::now());
        const int ready =
            ::poll(entries.data(), entries.size(),
                   static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        if (entries[0].revents != 0) return true;
        shorten();
    }
}

ssize_t SocketStream::transfer_tls(bool out, char* data, std::size_t size, short& wanted) {
    ERR_clear_error();
    std::size_t moved = 0;
    const int done = out ? SSL_write_ex(ssl_.get(), data, size, &moved)
                         : SSL_read_ex(ssl_.get(), data, size, &moved);
    if (done == 1) return static_cast<ssize_t>(moved);
    switch (SSL_get_error(ssl_.get(), done)) {
        case SSL_ERROR_WANT_READ:
            wanted = POLLIN;
            return -1;
        case SSL_ERROR_WANT_WRITE:
            wanted = POLLOUT;
            return -1;
        case SSL_ERROR_ZERO_RETURN:
            return 0;
        default:
            return -1;
    }
}

// The number of bytes moved; 0 at the peer's end, -1 after a failure.
ssize_t SocketStream::transfer(bool out, char* data, std::size_t size) {
    while (true) {
        short wanted = 0;
        ssize_t moved = 0;
        if (ssl_) {
            moved = transfer_tls(out, data, size, wanted);
        } else {
            moved = out ? ::send(fd_, data, size, MSG_NOSIGNAL) : ::recv(fd_, data, size, 0);
            if (moved < 0 && errno == EINTR) continue;
            if (moved < 0 && errno == EAGAIN) wanted = out ? POLLOUT : POLLIN;
        }
        if (wanted == 0) return moved;
        if (!wait(wanted, out)) return -1;
    }
}

bool SocketStream::receive() {
    if (!flush()) return false;
    answering_ = false;
    // A peer that keeps sending cannot extend the exchange beyond the wake-up or its deadline.
    if (limits_.wake != nullptr && !woken_ && limits_.wake->is_signalled()) shorten();
    if (std::chrono::steady_clock::now() >= end_by_) return false;
    if (at_ > 0) {
        std::memmove(in_.data(), in_.data() + at_, end_ - at_);
        end_ -= std::exchange(at_, 0);
    }
    const ssize_t got = transfer(false, in_.data() + end_, in_.size() - end_);
    if (got <= 0) return false;
    end_ += static_cast<std::size_t>(got);
    return true;
}

bool SocketStream::send_all(const char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t sent = transfer(true, const_cast<char*>(data), size);
        if (sent <= 0) {
            write_failed_ = true;
            return false;
        }
        data += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

bool SocketStream::flush() {
    const std::string out = std::exchange(out_, {});
    return out.empty() || send_all(out.data(), out.size());
}

bool SocketStream::write(std::string_view data) {
    if (write_failed_) return false;
    if (!answering_ && limits_.answer.count() > 0) {
        end_by_ = std::chrono::steady_clock::now() + limits_.answer;
    }
    answering_ = true;
    // A header and a body of the usual size are sent together; a large body is not copied.
    if (out_.size() + data.size() <= kMostKept) {
        out_.append(data);
        return true;
    }
    return flush() && send_all(data.data(), data.size());
}

}  // namespace tessera
