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
    // unavailable with the reason.
    static Result<UnixSocket> connect(const std::string& path);

    UnixSocket(UnixSocket&& other) noexcept;
    UnixSocket& operator=(UnixSocket&& other) noexcept;
    ~UnixSocket();

    // All of it, or an error.
    Result<> write(std::string_view data);
    // Some bytes; 0 when `timeout` passed without any. An error when the peer closed.
    Result<std::size_t> read(std::span<char> into, std::chrono::milliseconds timeout);

  private:
    explicit UnixSocket(int fd) : fd_(fd) {}

    int fd_;
};

}  // namespace tessera
