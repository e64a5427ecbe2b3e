// ttrpc over NRI's multiplexed socket. Source: containerd/ttrpc PROTOCOL.md and containerd/nri
// pkg/net/multiplex; tested with containerd 2.3.
//
//   trunk   := frame*
//   frame   := connection:u32 length:u32 bytes          big-endian; connections are byte streams
//   message := length:u32 stream:u32 type:u8 flags:u8 payload     type 1 request, 2 response
//   payload := protobuf Request or Response (api/nri/ttrpc.proto)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

inline constexpr std::uint32_t kPluginConnection = 1;   // the runtime calls us
inline constexpr std::uint32_t kRuntimeConnection = 2;  // we call the runtime
inline constexpr std::uint8_t kTtrpcRequest = 1;
inline constexpr std::uint8_t kTtrpcResponse = 2;

struct TtrpcMessage {
    std::uint32_t connection = 0;
    std::uint32_t stream = 0;
    std::uint8_t type = 0;
    std::string payload;

    friend bool operator==(const TtrpcMessage&, const TtrpcMessage&) = default;
};

// The bytes of one message on the trunk.
std::string encode_ttrpc(const TtrpcMessage& message);

// Takes the trunk's bytes in pieces of any size and returns the complete messages. invalid_argument
// for a frame or message above the protocol's limit of 4 MiB: the connection cannot be used any
// more.
class TtrpcDecoder {
  public:
    Result<std::vector<TtrpcMessage>> append(std::string_view bytes);

  private:
    Result<> take_frames();
    Result<> take_messages(std::uint32_t connection, std::vector<TtrpcMessage>& out);

    std::string trunk_;
    std::map<std::uint32_t, std::string>
        streams_;  // per connection: bytes that are not a complete message yet
};

}  // namespace tessera
