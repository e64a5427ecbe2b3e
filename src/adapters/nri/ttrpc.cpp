#include "adapters/nri/ttrpc.hpp"

namespace tessera {
namespace {

constexpr std::size_t kFrameHeader = 8;
constexpr std::size_t kMessageHeader = 10;
constexpr std::uint32_t kMostBytes = std::uint32_t{4} << 20;

void put_u32(std::string& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift & 0xFF);
}

std::uint32_t get_u32(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

}  // namespace

std::string encode_ttrpc(const TtrpcMessage& message) {
    std::string out;
    put_u32(out, message.connection);
    put_u32(out, static_cast<std::uint32_t>(kMessageHeader + message.payload.size()));
    put_u32(out, static_cast<std::uint32_t>(message.payload.size()));
    put_u32(out, message.stream);
    out += static_cast<char>(message.type);
    out += '\0';
    out += message.payload;
    return out;
}

Result<> TtrpcDecoder::take_frames() {
    std::size_t at = 0;
    while (trunk_.size() - at >= kFrameHeader) {
        const std::uint32_t connection = get_u32(trunk_, at);
        const std::uint32_t length = get_u32(trunk_, at + 4);
        if (length > kMostBytes + kMessageHeader) {
            return fail(Code::invalid_argument, "NRI: a frame is too long");
        }
        if (trunk_.size() - at - kFrameHeader < length) break;
        streams_[connection].append(trunk_, at + kFrameHeader, length);
        at += kFrameHeader + length;
    }
    trunk_.erase(0, at);
    return {};
}

Result<> TtrpcDecoder::take_messages(std::uint32_t connection, std::vector<TtrpcMessage>& out) {
    std::string& bytes = streams_[connection];
    std::size_t at = 0;
    while (bytes.size() - at >= kMessageHeader) {
        const std::uint32_t length = get_u32(bytes, at);
        if (length > kMostBytes) return fail(Code::invalid_argument, "NRI: a message is too long");
        if (bytes.size() - at - kMessageHeader < length) break;
        out.push_back({connection, get_u32(bytes, at + 4), static_cast<std::uint8_t>(bytes[at + 8]),
                       bytes.substr(at + kMessageHeader, length)});
        at += kMessageHeader + length;
    }
    bytes.erase(0, at);
    return {};
}

Result<std::vector<TtrpcMessage>> TtrpcDecoder::append(std::string_view bytes) {
    trunk_ += bytes;
    TRY_VOID(take_frames());
    std::vector<TtrpcMessage> out;
    for (const auto& [connection, rest] : streams_)
        TRY_VOID(take_messages(connection, out));
    return out;
}

}  // namespace tessera
