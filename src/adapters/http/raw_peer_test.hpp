// The other end of a connection as bytes, for what a correct client or server does not do.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

// A connected socket. Expected data comes within ten seconds or not at all.
class RawPeer {
  public:
    explicit RawPeer(int fd) : fd_(fd) {}
    RawPeer(RawPeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    RawPeer(const RawPeer&) = delete;
    RawPeer& operator=(const RawPeer&) = delete;
    ~RawPeer() {
        if (fd_ >= 0) ::close(fd_);
    }

    static RawPeer connect(int port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_GE(fd, 0);
        if (fd < 0) return RawPeer(fd);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return RawPeer(fd);
    }

    [[nodiscard]] int fd() const { return fd_; }
    // False when the other side is gone.
    bool send(std::string_view bytes) const {
        return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(bytes.size());
    }
    // Everything until `end` has come, the peer has closed, or nothing more comes.
    std::string read_until(std::string_view end) {
        std::string got;
        std::array<char, 1 << 16> buffer{};
        while (got.find(end) == std::string::npos) {
            pollfd entry{fd_, POLLIN, 0};
            if (::poll(&entry, 1, 10'000) <= 0) break;
            const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), 0);
            closed_ = count <= 0;
            if (closed_) break;
            got.append(buffer.data(), static_cast<std::size_t>(count));
        }
        return got;
    }
    std::string read_all() { return read_until("\n\n no such text"); }
    // Whether reading ended because the other side closed.
    [[nodiscard]] bool closed() const { return closed_; }

  private:
    int fd_;
    bool closed_ = false;
};

// A listening loopback socket.
class RawListener {
  public:
    RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_GE(fd_, 0);
        if (fd_ < 0) return;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(fd_, generic, size), 0);
        EXPECT_EQ(::listen(fd_, 16), 0);
        EXPECT_EQ(::getsockname(fd_, generic, &size), 0);
        port_ = ntohs(address.sin_port);
    }
    RawListener(const RawListener&) = delete;
    RawListener& operator=(const RawListener&) = delete;
    ~RawListener() {
        if (fd_ >= 0) ::close(fd_);
    }

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] RawPeer accept() const { return RawPeer(::accept(fd_, nullptr, nullptr)); }

  private:
    int fd_;
    int port_ = 0;
};

}  // namespace tessera
