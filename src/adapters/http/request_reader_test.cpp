#include "adapters/http/request_reader.hpp"

#include <gtest/gtest.h>

#include "adapters/http/sent_bytes_test.hpp"

namespace tessera {
namespace {

constexpr SocketStream::Limits kLimits{.whole = std::chrono::seconds(10)};

// The status of the fault of the head; -1: it was read.
int head_fault(std::string_view bytes) {
    const SentBytes sent(bytes);
    SocketStream stream(sent.fd());
    stream.start(kLimits);
    RequestReader in(stream);
    const auto fault = in.read_head();
    return fault ? fault->status : -1;
}

// The body; or the status of its fault in angle brackets.
std::string body_of(std::string_view bytes) {
    const SentBytes sent(bytes);
    SocketStream stream(sent.fd());
    stream.start(kLimits);
    RequestReader in(stream);
    if (in.read_head()) return "<head>";
    std::string body;
    const auto fault = in.read_body([&](std::string_view piece) {
        body += piece;
        return true;
    });
    return fault ? "<" + std::to_string(fault->status) + ">" : body;
}

std::string path_of(std::string_view target) {
    const SentBytes sent("GET " + std::string(target) + " HTTP/1.1\r\n\r\n");
    SocketStream stream(sent.fd());
    stream.start(kLimits);
    RequestReader in(stream);
    return in.read_head() ? "<head>" : in.path();
}

std::string query_of(std::string_view target) {
    const SentBytes sent("GET " + std::string(target) + " HTTP/1.1\r\n\r\n");
    SocketStream stream(sent.fd());
    stream.start(kLimits);
    RequestReader in(stream);
    return in.read_head() ? "<head>" : in.query();
}

// Goal: what is no request of HTTP/1 is refused, and an incomplete one gets no answer. Method: a
// table.
TEST(RequestReader, Heads) {
    const std::string large(SocketStream::kBuffer, 'x');
    // Each read ends at the end of a field, so the parser keeps nothing that it counts.
    std::string aligned = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 5'000; ++i)
        aligned += "aaaa: bbbbbbbb\r\n";
    const std::vector<std::pair<std::string, int>> cases{
        {aligned, 431},
        {"GET / HTTP/1.1\r\n\r\n", -1},
        {"GET / HTTP/1.0\r\nA:b\r\nC:  d \r\n\r\n", -1},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", -1},
        {"", 0},
        {"GET / HTTP/1.1\r\n", 0},
        {"GET / HTTP/1.1\r\nHost: a\r\n", 0},
        {"\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\n\n", 400},
        {"GET / HTTP/x\r\n\r\n", 400},
        {"GET / FTP/1.1\r\n\r\n", 400},
        {"G T / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nname : value\r\n\r\n", 400},
        {std::string("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 23), 400},
        {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET /" + large, 431},
        {"GET / HTTP/1.1\r\nA: " + large, 431},
        {"\x16\x03\x01\x02 TLS", 400},
    };
    for (const auto& [bytes, status] : cases)
        EXPECT_EQ(head_fault(bytes), status) << bytes.substr(0, 80);
}

// Goal: bodies of both forms are read to their end, and faults in them are found. Method: a table.
TEST(RequestReader, Bodies) {
    const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string sized = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
    const std::string large(90'000, 'x');
    const std::vector<std::pair<std::string, std::string>> cases{
        {sized + "abc", "abc"},
        {sized + "abcd", "abc"},
        {sized + "ab", "<0>"},
        {"POST / HTTP/1.1\r\nContent-Length: 90000\r\n\r\n" + large, large},
        {chunked + "1\r\na\r\n2;name=value\r\nbc\r\n0\r\nTrailer: x\r\n\r\n", "abc"},
        {chunked + "0\r\n\r\n", ""},
        {chunked + "2\r\na", "<0>"},
        {chunked + "x\r\na\r\n", "<400>"},
        {chunked + "1\r\nabc\r\n0\r\n\r\n", "<400>"},
        {chunked + "fffffffffffffffff\r\na", "<400>"},
        {"GET / HTTP/1.1\r\n\r\nabc", ""},
    };
    for (const auto& [bytes, body] : cases)
        EXPECT_EQ(body_of(bytes), body) << bytes.substr(0, 80);
}

TEST(RequestReader, Paths) {
    EXPECT_EQ(path_of("/a/b?c=d#e"), "/a/b");
    EXPECT_EQ(path_of("/a#b?c"), "/a");
    EXPECT_EQ(path_of("/a%20b%2Fc%c3%a4"), "/a b/c\xC3\xA4");
    EXPECT_EQ(path_of("/%zz%4%"), "/%zz%4%");
    EXPECT_EQ(path_of("/a+b"), "/a+b");
    EXPECT_EQ(path_of("*"), "*");
    EXPECT_EQ(query_of("/a/b?c=d%20&e?f#g"), "c=d%20&e?f");
    for (const char* target : {"/a", "/a?", "/a#b?c", "*"})
        EXPECT_EQ(query_of(target), "") << target;
}

// Goal: the server knows what it asks of a head, and the next request follows on the connection.
TEST(RequestReader, SeveralRequests) {
    const SentBytes sent(
        "POST /one HTTP/1.1\r\ncontent-length: 2\r\nAuthorization: Bearer x\r\n\r\nab"
        "GET /two HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        "PUT /three HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: gzip\r\n\r\n");
    SocketStream stream(sent.fd());
    stream.start(kLimits);
    {
        RequestReader in(stream);
        ASSERT_FALSE(in.read_head());
        EXPECT_EQ(in.method(), "POST");
        EXPECT_EQ(in.announced_size(), 2U);
        EXPECT_EQ(in.field("authorization"), "Bearer x");
        EXPECT_EQ(in.field("Cookie"), "");
        EXPECT_TRUE(in.keeps_alive());
        EXPECT_FALSE(in.is_http_1_0());
        EXPECT_FALSE(in.is_whole());
        EXPECT_FALSE(in.read_body([](std::string_view) { return false; }));
        EXPECT_TRUE(in.is_whole()) << "the piece had all of it";
    }
    EXPECT_TRUE(stream.has_more());
    {
        RequestReader in(stream);
        ASSERT_FALSE(in.read_head());
        EXPECT_EQ(in.path(), "/two");
        EXPECT_TRUE(in.is_http_1_0());
        EXPECT_TRUE(in.keeps_alive());
        EXPECT_TRUE(in.is_whole());
        EXPECT_EQ(in.announced_size(), std::nullopt);
    }
    RequestReader in(stream);
    ASSERT_FALSE(in.read_head());
    EXPECT_FALSE(in.keeps_alive());
    EXPECT_FALSE(in.is_whole()) << "the size of its body is not known";
}

}  // namespace
}  // namespace tessera
