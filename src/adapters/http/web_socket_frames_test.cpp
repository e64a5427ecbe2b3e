#include "adapters/http/web_socket_frames.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using Texts = std::vector<std::string>;

// A server's frame: without a mask.
std::string frame(int first, const std::string& text) {
    std::string out(1, static_cast<char>(first));
    if (text.size() < 126) {
        out += static_cast<char>(text.size());
    } else {
        out += {126, static_cast<char>(text.size() >> 8U), static_cast<char>(text.size() & 0xffU)};
    }
    return out + text;
}

constexpr int kLast = 0x80;

// The messages, with their kinds, of bytes that arrive in parts of this size.
Texts read(const std::string& bytes, std::size_t part) {
    FrameReader reader;
    Texts out;
    for (std::size_t at = 0; at < bytes.size(); at += part) {
        reader.add(std::string_view(bytes).substr(at, part));
        while (true) {
            const auto message = reader.next();
            if (!message) return {message.error().text};
            if (!*message) break;
            out.push_back(std::to_string(static_cast<int>((*message)->kind)) + (*message)->text);
        }
    }
    return out;
}

// Goal: whole messages, however the bytes are divided: in frames, with control frames between, and
// in parts that arrive.
TEST(WebSocketFrames, Reads) {
    const std::string large(300, 'x');
    const std::string bytes = frame(kLast | 2, "a") + frame(1, "one ") + frame(kLast | 9, "ping") +
                              frame(0, "two ") + frame(kLast | 0, large) + frame(kLast | 2, "") +
                              frame(kLast | 8, "");
    for (const std::size_t part : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
        EXPECT_EQ(read(bytes, part), (Texts{"2a", "9ping", "1one two " + large, "2", "8"})) << part;
    }
}

TEST(WebSocketFrames, Refuses) {
    const std::string huge =
        std::string{static_cast<char>(kLast | 2), 127} + "\xff\xff\xff\xff" + "\xff\xff\xff\xff";
    const std::vector<std::pair<std::string, std::string>> cases{
        {frame(kLast | 0x40 | 2, "a"), "it uses an extension"},
        {frame(kLast | 3, "a"), "a frame of unknown kind"},
        {std::string{static_cast<char>(kLast | 2), static_cast<char>(0x81), 0, 0, 0, 0, 'a'},
         "a server's frame has a mask"},
        {frame(9, "a"), "a control frame is divided or too long"},
        {frame(kLast | 8, std::string(126, 'x')), "a control frame is divided or too long"},
        {frame(kLast | 0, "a"), "a frame does not belong to the message before it"},
        {frame(1, "a") + frame(kLast | 1, "b"), "a frame does not belong to the message before it"},
        {huge, "a message is too long"}};
    for (const auto& [bytes, reason] : cases)
        EXPECT_EQ(read(bytes, 1), Texts{"the peer's data is not WebSocket: " + reason});
}

// Goal: the bytes of RFC 6455 §5.7, and lengths of each form.
TEST(WebSocketFrames, Writes) {
    EXPECT_EQ(write_frame(FrameKind::text, "Hello", 0x37fa213d),
              "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    EXPECT_EQ(write_frame(FrameKind::binary, std::string(256, '\0'), 0).substr(0, 4),
              std::string("\x82\xfe\x01\x00", 4));
    EXPECT_EQ(write_frame(FrameKind::binary, std::string(65'536, '\0'), 0).substr(0, 10),
              std::string("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00", 10));
}

}  // namespace
}  // namespace tessera
