// A connected UNIX stream socket, and how to wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

class UnixSocket {
  public:
    // unavailable with the reason; at once also when the other side takes no more connections.
    static Result<UnixSocket> connect(const std::string& path);

    UnixSocket(UnixSocket&& other) noexcept;
    UnixSocket& operator=(UnixSocket&& other) noexcept;
    ~UnixSocket();

    // All of it, or an error; then part of it may be written, and the connection is of no more use.
    Result<> write(std::string_view data, std::chrono::milliseconds timeout);
    // Some bytes; 0 when `timeout` passed without any. An error when the peer closed.
    Result<std::size_t> read(std::span<char> into, std::chrono::milliseconds timeout);

  private:
    explicit UnixSocket(int fd) : fd_(fd) {}

    int fd_;
};

}  // namespace tessera
