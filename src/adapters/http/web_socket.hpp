// A WebSocket connection (RFC 6455), by Boost.Beast over an HttpConnection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/http/http.hpp"

namespace tessera {

// Used by one thread at a time.
class WebSocket {
  public:
    // The most bytes of one message that is received.
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

    // Asks the server at `path` for a WebSocket. `protocols`: those that the caller speaks, the
    // preferred one first. Waits until `deadline`. Null: the server declined; a plain request for
    // the same path is answered with the reason. Errors: unavailable.
    static Result<std::unique_ptr<WebSocket>> open(HttpClient& http, const std::string& path,
                                                   const std::string& protocols,
                                                   std::chrono::milliseconds deadline);
    ~WebSocket();

    // The one that the server chose.
    [[nodiscard]] const std::string& protocol() const;
    // For poll(): when it is readable, call receive().
    [[nodiscard]] int fd() const;
    // Calls `on_message` with each message that has come. Returns false when the peer has closed.
    // Waits only for the rest of a message that has begun.
    Result<bool> receive(const std::function<void(std::string_view)>& on_message);
    // Sends a binary message. Waits until it is sent.
    Result<> send(std::string_view message);

  private:
    class Impl;
    explicit WebSocket(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
