// The frames of WebSocket (RFC 6455 §5), without a connection. Boost.Beast has them too, but its
// synchronous calls wait inside of a frame and at a ping, and a terminal must not wait then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

enum class FrameKind : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
};

// A message, or a control frame.
struct WebSocketMessage {
    FrameKind kind = FrameKind::binary;
    std::string text;
};

// Takes the bytes of a server, and returns the messages in them.
class FrameReader {
  public:
    // The most bytes of one message.
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

    void add(std::string_view bytes) { in_.append(bytes); }
    // Nothing: there is none yet. invalid_argument: the bytes are not WebSocket, or a message is
    // larger than kMostBytes; then this object cannot be used any more.
    Result<std::optional<WebSocketMessage>> next();

  private:
    struct Head {
        FrameKind kind;
        bool is_last;      // frame of its message
        std::size_t size;  // of the frame's text
        std::size_t head;  // bytes before it
    };
    Result<std::optional<Head>> read_head();

    std::string in_;
    std::size_t at_ = 0;                     // what comes before is consumed
    std::optional<WebSocketMessage> begun_;  // of which frames have come
};

// A frame of a client. `mask`: four random bytes.
std::string write_frame(FrameKind kind, std::string_view text, std::uint32_t mask);

}  // namespace tessera
