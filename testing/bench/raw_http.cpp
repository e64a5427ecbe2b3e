#include "testing/bench/raw_http.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/check.hpp"

namespace tessera::bench {
namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

void no_delay(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "content-length: ";
    for (std::size_t at = 0; at + kName.size() < head.size(); ++at) {
        if (::strncasecmp(head.data() + at, kName.data(), kName.size()) != 0) continue;
        std::size_t length = 0;
        std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
        return length;
    }
    return 0;
}

}  // namespace

Wire::~Wire() {
    ::close(fd_);
}

void Wire::send(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

Wire::Message Wire::receive() {
    static thread_local std::array<char, 1 << 16> buffer;
    const auto more = [&] {
        const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
        if (got > 0) rest_.append(buffer.data(), static_cast<std::size_t>(got));
        return got > 0;
    };
    std::size_t end = 0;
    while ((end = rest_.find("\r\n\r\n")) == std::string::npos) {
        if (!more()) return {};
    }
    Message message{rest_.substr(0, end + 4), {}};
    const std::size_t length = content_length(message.head);
    while (rest_.size() < end + 4 + length) {
        if (!more()) return {};
    }
    message.body = rest_.substr(end + 4, length);
    rest_.erase(0, end + 4 + length);
    return message;
}

Listener listen_anywhere() {
    Listener out{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 0};
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    TESSERA_CHECK(::bind(out.fd, generic, size) == 0, "bind to loopback");
    TESSERA_CHECK(::listen(out.fd, 64) == 0, "listen");
    TESSERA_CHECK(::getsockname(out.fd, generic, &size) == 0, "getsockname");
    out.port = ntohs(address.sin_port);
    return out;
}

int accept_from(const Listener& listener) {
    const int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) no_delay(fd);
    return fd;
}

int connect_to(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    no_delay(fd);
    return fd;
}

int free_port() {
    const Listener listener = listen_anywhere();
    ::close(listener.fd);
    return listener.port;
}

std::string post(std::string_view path, std::string_view body) {
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{}",
        path, body.size(), body);
}

std::string get(std::string_view path) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n", path);
}

std::string answer(int status, std::string_view body) {
    return fmt::format(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
        body.size(), body);
}

}  // namespace tessera::bench
