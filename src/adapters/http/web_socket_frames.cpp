#include "adapters/http/web_socket_frames.hpp"

#include <array>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kMostOfControl = 125;  // bytes of a control frame

bool is_control(FrameKind kind) {
    return static_cast<std::uint8_t>(kind) >= 8;
}

std::uint8_t byte_at(std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(text[at]);
}

// A number in the order of the network.
std::uint64_t number(std::string_view text) {
    std::uint64_t out = 0;
    for (const char c : text)
        out = out << 8U | static_cast<std::uint8_t>(c);
    return out;
}

void append_number(std::string& out, std::uint64_t value, int bytes) {
    for (int i = bytes; i-- > 0;)
        out += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 0xffU);
}

bool is_known(std::uint8_t kind) {
    return kind <= 2 || (kind >= 8 && kind <= 10);
}

tl::unexpected<Error> not_websocket(const char* what) {
    return fail(Code::invalid_argument, std::string("the peer's data is not WebSocket: ") + what);
}

}  // namespace

Result<std::optional<FrameReader::Head>> FrameReader::read_head() {
    const std::string_view in = std::string_view(in_).substr(at_);
    if (in.size() < 2) return std::optional<Head>();
    const std::uint8_t first = byte_at(in, 0);
    const std::uint8_t second = byte_at(in, 1);
    if ((first & 0x70U) != 0) return not_websocket("it uses an extension");
    if (!is_known(first & 0x0fU)) return not_websocket("a frame of unknown kind");
    if ((second & 0x80U) != 0) return not_websocket("a server's frame has a mask");
    Head head{static_cast<FrameKind>(first & 0x0fU), (first & 0x80U) != 0, second, 2};
    const std::size_t more = second == 126 ? 2 : second == 127 ? 8 : 0;
    if (is_control(head.kind) && (!head.is_last || second > kMostOfControl))
        return not_websocket("a control frame is divided or too long");
    if (in.size() < 2 + more) return std::optional<Head>();
    if (more > 0) {
        const std::uint64_t size = number(in.substr(2, more));
        if (size > kMostBytes) return not_websocket("a message is too long");
        head.size = static_cast<std::size_t>(size);
        head.head += more;
    }
    return std::optional(head);
}

Result<std::optional<WebSocketMessage>> FrameReader::next() {
    while (true) {
        TRY(const auto head, read_head());
        if (!head || in_.size() - at_ < head->head + head->size) {
            in_.erase(0, std::exchange(at_, 0));
            return std::optional<WebSocketMessage>();
        }
        std::string text = in_.substr(at_ + head->head, head->size);
        at_ += head->head + head->size;
        if (is_control(head->kind))
            return std::optional(WebSocketMessage{head->kind, std::move(text)});
        if ((head->kind == FrameKind::continuation) != begun_.has_value())
            return not_websocket("a frame does not belong to the message before it");
        if (!begun_) begun_ = WebSocketMessage{head->kind, {}};
        if (begun_->text.size() + text.size() > kMostBytes)
            return not_websocket("a message is too long");
        begun_->text += text;
        if (!head->is_last) continue;
        std::optional<WebSocketMessage> whole = std::move(begun_);
        begun_.reset();
        return whole;
    }
}

std::string write_frame(FrameKind kind, std::string_view text, std::uint32_t mask) {
    std::string out;
    out.reserve(text.size() + 14);
    out += static_cast<char>(0x80U | static_cast<std::uint8_t>(kind));
    constexpr std::size_t kMostOfTwoBytes = 0xffff;
    if (text.size() <= kMostOfControl) {
        out += static_cast<char>(0x80U | text.size());
    } else if (text.size() <= kMostOfTwoBytes) {
        out += static_cast<char>(0x80U | 126U);
        append_number(out, text.size(), 2);
    } else {
        out += static_cast<char>(0x80U | 127U);
        append_number(out, text.size(), 8);
    }
    append_number(out, mask, 4);
    const std::array<unsigned char, 4> key{
        static_cast<unsigned char>(mask >> 24U), static_cast<unsigned char>(mask >> 16U),
        static_cast<unsigned char>(mask >> 8U), static_cast<unsigned char>(mask)};
    for (std::size_t i = 0; i < text.size(); ++i)
        out += static_cast<char>(static_cast<unsigned char>(text[i]) ^ key[i % key.size()]);
    return out;
}

}  // namespace tessera
