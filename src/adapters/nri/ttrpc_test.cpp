#include "adapters/nri/ttrpc.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tessera {
namespace {

using namespace std::string_literals;

// Goal: the bytes of the protocol, header by header.
TEST(Ttrpc, Bytes) {
    EXPECT_EQ(encode_ttrpc({kRuntimeConnection, 3, kTtrpcRequest, "hi"}),
              "\0\0\0\2\0\0\0\x0c\0\0\0\2\0\0\0\3\1\0hi"s);
}

// Goal: complete messages are returned, for any pieces of bytes and any connections. Method: random
// messages, cut at random places; the order is kept per connection.
RC_GTEST_PROP(TtrpcProperty, MessagesComeBackFromAnyPieces, ()) {
    std::vector<TtrpcMessage> sent;
    std::string bytes;
    const int count = *rc::gen::inRange(0, 8);
    for (int i = 0; i < count; ++i) {
        sent.push_back({*rc::gen::inRange<std::uint32_t>(1, 3),
                        *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange<std::uint8_t>(1, 3),
                        *rc::gen::arbitrary<std::string>()});
        bytes += encode_ttrpc(sent.back());
    }
    TtrpcDecoder decoder;
    std::vector<TtrpcMessage> got;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = *rc::gen::inRange<std::size_t>(1, 20);
        auto messages = decoder.append(std::string_view(bytes).substr(at, size));
        RC_ASSERT(messages.has_value());
        got.insert(got.end(), messages->begin(), messages->end());
        at += size;
    }
    for (const std::uint32_t connection : {1U, 2U}) {
        std::vector<TtrpcMessage> expected = sent;
        std::vector<TtrpcMessage> found = got;
        const auto other = [connection](const TtrpcMessage& m) {
            return m.connection != connection;
        };
        std::erase_if(expected, other);
        std::erase_if(found, other);
        RC_ASSERT(found == expected);
    }
}

// Goal: one message may come in several frames, between frames of another connection.
TEST(Ttrpc, MessageInSeveralFrames) {
    const std::string whole = encode_ttrpc({1, 1, kTtrpcRequest, "payload"});
    const std::string message = whole.substr(8);
    const auto frame = [](std::string_view piece) {
        return "\0\0\0\1\0\0\0"s + static_cast<char>(piece.size()) + std::string(piece);
    };
    TtrpcDecoder decoder;
    EXPECT_TRUE(decoder.append(frame(message.substr(0, 5)))->empty());
    EXPECT_EQ(decoder.append(encode_ttrpc({2, 7, kTtrpcResponse, "other"}))->size(), 1U);
    EXPECT_TRUE(decoder.append(frame(message.substr(5, 6)))->empty());
    const auto done = decoder.append(frame(message.substr(11)));
    ASSERT_EQ(done->size(), 1U);
    EXPECT_EQ(done->front(), (TtrpcMessage{1, 1, kTtrpcRequest, "payload"}));
}

// Goal: lengths beyond the protocol's limit end the connection, before memory is allocated for
// them.
TEST(Ttrpc, TooLong) {
    TtrpcDecoder frames;
    EXPECT_EQ(frames.append("\0\0\0\1\xff\xff\xff\xff"s).error().code, Code::invalid_argument);
    TtrpcDecoder messages;
    EXPECT_EQ(messages.append("\0\0\0\1\0\0\0\x0a\x7f\xff\xff\xff\0\0\0\1\1\0"s).error().code,
              Code::invalid_argument);
}

}  // namespace
}  // namespace tessera
