#include "wire/workload/port_forward_protocol.hpp"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::size_t kPortBytes = 2;

int byte_at(std::string_view text, std::size_t position) {
    return static_cast<unsigned char>(text[position]);
}

}  // namespace

Result<std::optional<ForwardMessage>> ForwardReader::read(std::string_view message) {
    if (message.empty()) return std::nullopt;
    const auto channel = static_cast<std::size_t>(byte_at(message, 0));
    if (channel >= has_port_.size()) {
        return fail(Code::unavailable,
                    fmt::format("the API server uses channel {} for one port, which has channels 0 "
                                "and 1",
                                channel));
    }
    message.remove_prefix(1);
    if (!has_port_[channel]) {
        has_port_[channel] = true;
        const bool is_port = message.size() >= kPortBytes &&
                             byte_at(message, 0) + 256 * byte_at(message, 1) == port_;
        if (!is_port) {
            return fail(Code::unavailable,
                        fmt::format("channel {} does not begin with the port {}", channel, port_));
        }
        message.remove_prefix(kPortBytes);
    }
    if (message.empty()) return std::nullopt;
    return ForwardMessage{static_cast<ForwardChannel>(channel), message};
}

std::string write_forward_data(std::string_view text) {
    std::string out(1, static_cast<char>(ForwardChannel::data));
    out += text;
    return out;
}

std::string forward_path(const PodName& pod, int port) {
    return fmt::format("/api/v1/namespaces/{}/pods/{}/portforward?ports={}", pod.ns, pod.name,
                       port);
}

}  // namespace tessera
