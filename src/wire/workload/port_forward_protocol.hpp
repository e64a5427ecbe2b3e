// The protocol in which the API server forwards a connection to one port of a pod: messages of a
// WebSocket, each with a byte of its channel before it. For one port there are two channels. The
// first message of each has the port as two bytes, the low one first (Kubernetes' port forwarding
// over v4.channel.k8s.io).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

inline constexpr std::string_view kForwardProtocol = "v4.channel.k8s.io";

enum class ForwardChannel : std::uint8_t { data = 0, error = 1 };

struct ForwardMessage {
    ForwardChannel channel;
    std::string_view text;  // of the message; never empty
};

// Reads the messages of one connection, in their order. Used by one thread.
class ForwardReader {
  public:
    explicit ForwardReader(int port) : port_(port) {}

    // Nothing for a message without content, such as the first one of a channel. unavailable: the
    // peer does not speak this protocol.
    Result<std::optional<ForwardMessage>> read(std::string_view message);

  private:
    int port_;
    std::array<bool, 2> has_port_{};
};

std::string write_forward_data(std::string_view text);

// The path with its query. `port`: of the pod, 1 to 65535.
std::string forward_path(const PodName& pod, int port);

}  // namespace tessera
