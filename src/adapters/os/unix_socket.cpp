#include "adapters/os/unix_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

tl::unexpected<Error> failed(std::string_view what) {
    return fail(Code::unavailable, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<UnixSocket> UnixSocket::connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return fail(Code::invalid_argument, path + ": too long for a socket");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    // Non-blocking, so that no call waits longer than its timeout. A UNIX socket's connect() blocks
    // only if the other side's queue is full.
    UnixSocket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.fd_ < 0) return failed("socket");
    if (::connect(socket.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return failed(path);
    }
    return socket;
}

UnixSocket::UnixSocket(UnixSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

UnixSocket& UnixSocket::operator=(UnixSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

UnixSocket::~UnixSocket() {
    if (fd_ >= 0) ::close(fd_);
}

Result<> UnixSocket::write(std::string_view data, std::chrono::milliseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + timeout;
    while (!data.empty()) {
        const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            data.remove_prefix(static_cast<std::size_t>(sent));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return failed("write");
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return fail(Code::unavailable, "write: the other side does not read");
        pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
        ::poll(&ready, 1, static_cast<int>(left));
    }
    return {};
}

Result<std::size_t> UnixSocket::read(std::span<char> into, std::chrono::milliseconds timeout) {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(timeout.count()));
    if (polled == 0 || (polled < 0 && errno == EINTR)) return std::size_t{0};
    const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::size_t{0};
    if (got == 0) return fail(Code::unavailable, "the other side closed the connection");
    if (got < 0) return failed("read");
    return static_cast<std::size_t>(got);
}

}  // namespace tessera
