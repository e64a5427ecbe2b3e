// A connected UNIX stream socket with timeouts.
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
    // unavailable with the reason. Does not block if the other side accepts no more connections:
    // that is an error.
    static Result<UnixSocket> connect(const std::string& path);

    UnixSocket(UnixSocket&& other) noexcept;
    UnixSocket& operator=(UnixSocket&& other) noexcept;
    ~UnixSocket();

    // Writes everything, or returns an error. After an error a part may have been written, and the
    // connection cannot be used any more.
    Result<> write(std::string_view data, std::chrono::milliseconds timeout);
    // Reads some bytes; 0 if `timeout` passed without any. An error if the peer closed the
    // connection.
    Result<std::size_t> read(std::span<char> into, std::chrono::milliseconds timeout);

  private:
    explicit UnixSocket(int fd) : fd_(fd) {}

    int fd_;
};

}  // namespace tessera
