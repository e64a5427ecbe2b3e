#include "adapters/http/web_socket.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/beast/websocket.hpp>
#include <thread>
#include <vector>

#include "adapters/http/loopback_server_test.hpp"

namespace tessera {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using namespace std::chrono_literals;

using Peer = websocket::stream<tcp::socket>;

// All messages until the peer closes. `socket` sends meanwhile what it has kept.
std::vector<std::string> received(WebSocket& socket) {
    std::vector<std::string> out;
    while (true) {
        const auto open = socket.exchange([&](std::string_view text) { out.emplace_back(text); });
        if (!open || !*open) return out;
        pollfd one{.fd = socket.fd(), .events = socket.events(), .revents = 0};
        ::poll(&one, 1, socket.has_more() ? 0 : -1);
    }
}

// Goal: messages come whole and in order: small ones that arrive together, so that poll() reports
// them once, and large ones.
TEST(WebSocketClient, Messages) {
    const std::string large(100'000, 'x');
    std::string seen;
    std::string protocols;
    {
        const LoopbackServer server([&](tcp::socket socket) {
            Peer peer(std::move(socket));
            boost::beast::flat_buffer buffer;
            boost::beast::http::request<boost::beast::http::string_body> request;
            boost::beast::http::read(peer.next_layer(), buffer, request);
            protocols = std::string(request[boost::beast::http::field::sec_websocket_protocol]);
            peer.set_option(websocket::stream_base::decorator([](websocket::response_type& answer) {
                answer.set(boost::beast::http::field::sec_websocket_protocol, "b");
            }));
            peer.accept(request);
            peer.binary(true);
            boost::beast::flat_buffer message;
            peer.read(message);
            seen.assign(static_cast<const char*>(message.data().data()), message.size());
            peer.ping("are you there");
            for (const char* text : {"one", "two", ""})
                peer.write(asio::buffer(std::string(text)));
            peer.write(asio::buffer(large));
            peer.close(websocket::close_code::normal);
        });
        HttpClient http(server.endpoint());
        const auto socket = WebSocket::open(http, "/a?b=c", "a, b", 10s);
        ASSERT_TRUE(socket && *socket);
        EXPECT_EQ((*socket)->protocol(), "b");
        (*socket)->send(std::string(20'000, 'y'));
        EXPECT_EQ(received(**socket), (std::vector<std::string>{"one", "two", "", large}));
    }
    EXPECT_EQ(protocols, "a, b");
    EXPECT_EQ(seen, std::string(20'000, 'y'));
}

// Goal: a peer that sends without reading, and reads later, gets all that was sent meanwhile: there
// is no wait of both sides for each other.
TEST(WebSocketClient, BothDirectionsAreFull) {
    const std::string large(8'000'000, 'x');
    std::size_t seen = 0;
    {
        const LoopbackServer server([&](tcp::socket socket) {
            Peer peer(std::move(socket));
            peer.read_message_max(2 * large.size());
            peer.accept();
            peer.binary(true);
            peer.write(asio::buffer(large));
            boost::beast::flat_buffer message;
            peer.read(message);
            seen = message.size();
            peer.close(websocket::close_code::normal);
        });
        HttpClient http(server.endpoint());
        const auto socket = WebSocket::open(http, "/", "a", 10s);
        ASSERT_TRUE(socket && *socket);
        (*socket)->send(large);
        EXPECT_EQ(received(**socket), std::vector{large});
    }
    EXPECT_EQ(seen, large.size());
}

// Goal: a server that declines gives null, and one that closes an error that says so.
TEST(WebSocketClient, NotOpen) {
    {
        const LoopbackServer server([](tcp::socket socket) {
            std::string request;
            asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n");
            const std::string_view answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
            asio::write(socket, asio::buffer(answer));
            boost::system::error_code error;
            socket.wait(tcp::socket::wait_read, error);
        });
        HttpClient http(server.endpoint());
        const auto socket = WebSocket::open(http, "/", "a", 10s);
        ASSERT_TRUE(socket) << socket.error().text;
        EXPECT_EQ(*socket, nullptr);
    }
    {
        const LoopbackServer server([](tcp::socket socket) { socket.close(); });
        HttpClient http(server.endpoint());
        const auto socket = WebSocket::open(http, "/", "a", 10s);
        ASSERT_FALSE(socket);
        EXPECT_NE(socket.error().text.find("has ended"), std::string::npos) << socket.error().text;
    }
    HttpClient nowhere({.host = "127.0.0.1", .port = 1, .tls = false});
    EXPECT_EQ(WebSocket::open(nowhere, "/", "a", 10s).error().code, Code::unavailable);
}

}  // namespace
}  // namespace tessera
