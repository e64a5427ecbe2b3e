// A WebSocket connection (RFC 6455) over an HttpConnection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/http/http.hpp"

namespace tessera {

// Used by one thread at a time. After open(), no function waits: call poll() on fd() for events(),
// and then exchange().
class WebSocket {
  public:
    // How often a peer that sends nothing is asked for a sign of life, and how long it may be
    // silent. The first is less than the idle time of common load balancers.
    static constexpr std::chrono::seconds kPing{10};
    static constexpr std::chrono::seconds kSilence{60};

    // Asks the server at `path` for a WebSocket. `protocols`: those that the caller speaks, the
    // preferred one first. Waits until `deadline`. Null: the server declined; a plain request for
    // the same path is answered with the reason. Errors: unavailable.
    static Result<std::unique_ptr<WebSocket>> open(HttpClient& http, const std::string& path,
                                                   const std::string& protocols,
                                                   std::chrono::milliseconds deadline);
    ~WebSocket();

    // The one that the server chose.
    [[nodiscard]] const std::string& protocol() const;
    [[nodiscard]] int fd() const;
    [[nodiscard]] short events() const;
    // Whether bytes may be there that poll() does not report: call exchange() at once.
    [[nodiscard]] bool has_more() const;

    // Sends what send() has kept, as far as the peer takes it, and calls `on_message` with messages
    // that have come; not with all of them if there are very many. Returns false when the peer has
    // closed. A connection on which nothing can be sent any more is read to its end. Errors:
    // unavailable, also after kSilence.
    Result<bool> exchange(const std::function<void(std::string_view)>& on_message);
    // Keeps a binary message for exchange().
    void send(std::string_view message);
    // The bytes that are kept.
    [[nodiscard]] std::size_t unsent() const;

  private:
    class Impl;
    explicit WebSocket(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
