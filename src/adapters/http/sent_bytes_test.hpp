// The server's end of a connection on which a peer has sent some bytes and nothing more follows.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "adapters/http/socket_stream.hpp"
#include "base/check.hpp"

namespace tessera {

class SentBytes {
  public:
    // At most some 100,000 bytes, which the kernel keeps.
    explicit SentBytes(std::string_view bytes) {
        std::array<int, 2> pair{};
        TESSERA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0,
                      "a pair of sockets can be made");
        const ssize_t sent = ::send(pair[0], bytes.data(), bytes.size(), MSG_NOSIGNAL);
        TESSERA_CHECK(sent == static_cast<ssize_t>(bytes.size()), "the bytes have a place");
        ::close(pair[0]);
        fd_ = pair[1];
        ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
    }
    ~SentBytes() { ::close(fd_); }
    SentBytes(const SentBytes&) = delete;
    SentBytes& operator=(const SentBytes&) = delete;

    [[nodiscard]] int fd() const { return fd_; }

  private:
    int fd_ = -1;
};

}  // namespace tessera
