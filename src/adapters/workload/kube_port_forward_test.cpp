#include "adapters/workload/kube_port_forward.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/websocket.hpp>
#include <iostream>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "adapters/http/loopback_server_test.hpp"

namespace tessera {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

using Peer = websocket::stream<tcp::socket>;

constexpr int kPort = 6006;  // 0x1776
constexpr auto kPorts = std::to_array<std::string_view>({"\0\x76\x17"sv, "\1\x76\x17"sv});

// Speaks as the API server does, up to the ports of both channels.
void accept(Peer& peer) {
    peer.set_option(websocket::stream_base::decorator([](websocket::response_type& answer) {
        answer.set(boost::beast::http::field::sec_websocket_protocol, "v4.channel.k8s.io");
    }));
    peer.accept();
    peer.binary(true);
    for (const std::string_view port : kPorts)
        peer.write(asio::buffer(port));
}

class PortForwardTest : public ::testing::Test {
  protected:
    // Serves for the time that `use` takes.
    void with_server(std::function<void(tcp::socket)> serve, const std::function<void(int)>& use) {
        const LoopbackServer server([serve = std::move(serve)](tcp::socket socket) {
            try {
                serve(std::move(socket));
            } catch (const boost::system::system_error& gone) {
                std::cerr << "the client is gone: " << gone.what() << "\n";
            }
        });
        HttpClient api(server.endpoint());
        auto opened = PortForward::open(api, 0, kPort,
                                        {.find_pod = [this] { return pod_; },
                                         .warn =
                                             [this](const std::string& text) {
                                                 const std::lock_guard lock(mutex_);
                                                 warnings_.push_back(text);
                                             }});
        ASSERT_TRUE(opened);
        const std::jthread user([&, port = (*opened)->port()] {
            use(port);
            is_over_ = true;
        });
        while (!is_over_)
            (*opened)->serve_for(10ms);
    }

    // What the client receives until the end, after it has sent `text`.
    static std::string exchanged(int port, const std::string& text) {
        asio::io_context context;
        tcp::socket socket(context);
        socket.connect(
            {asio::ip::make_address("127.0.0.1"), static_cast<std::uint_least16_t>(port)});
        std::string out;
        boost::system::error_code error;
        const std::jthread sender([&] {
            boost::system::error_code ended;
            asio::write(socket, asio::buffer(text), ended);
        });
        asio::read(socket, asio::dynamic_buffer(out), error);
        return out;
    }

    Result<PodName> pod_ = PodName{"team", "pod-1"};
    std::mutex mutex_;
    std::vector<std::string> warnings_;
    std::atomic<bool> is_over_ = false;
};

// Goal: several connections at once, each with more than fits into buffers, do not mix.
TEST_F(PortForwardTest, SeveralConnections) {
    constexpr std::size_t kSize = 2'000'000;
    const auto serve = [](tcp::socket socket) {
        Peer peer(std::move(socket));
        accept(peer);
        std::string all;
        while (all.size() < kSize) {
            boost::beast::flat_buffer message;
            peer.read(message);
            const auto* begin = static_cast<const char*>(message.data().data());
            ASSERT_EQ(*begin, '\0');
            all.append(begin + 1, message.size() - 1);
        }
        const std::string answer = std::string(1, '\0') + all;
        peer.write(asio::buffer(answer));
        peer.close(websocket::close_code::normal);
    };
    with_server(serve, [&](int port) {
        std::list<std::jthread> clients;
        for (const char letter : {'a', 'b', 'c', 'd'}) {
            clients.emplace_back([=] {
                const std::string text(kSize, letter);
                EXPECT_TRUE(exchanged(port, text) == text) << letter;
            });
        }
    });
    EXPECT_EQ(warnings_, std::vector<std::string>{});
}

// Goal: the pod's own error reaches the user, and ends the connection.
TEST_F(PortForwardTest, ErrorOfThePod) {
    const auto serve = [](tcp::socket socket) {
        Peer peer(std::move(socket));
        accept(peer);
        peer.write(asio::buffer("\1connection refused"sv));
        peer.close(websocket::close_code::normal);
    };
    with_server(serve, [&](int port) { EXPECT_EQ(exchanged(port, "GET /"), ""); });
    EXPECT_EQ(warnings_, (std::vector<std::string>{"connection refused"}));
}

// Goal: a user without the right learns which one is missing.
TEST_F(PortForwardTest, MissingRight) {
    const auto serve = [](tcp::socket socket) {
        std::string request;
        asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n");
        const std::string body =
            R"({"kind":"Status","message":"User \"ada\" cannot create resource"})";
        const std::string answer =
            "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
            "Connection: close\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body;
        asio::write(socket, asio::buffer(answer));
    };
    with_server(serve, [&](int port) { EXPECT_EQ(exchanged(port, "GET /"), ""); });
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_TRUE(warnings_[0].ends_with(
        "you need the right to create and get pods/portforward in namespace team"))
        << warnings_[0];
}

TEST_F(PortForwardTest, NoPod) {
    pod_ = fail(Code::unavailable, "TensorBoard does not run");
    with_server([](const tcp::socket&) {}, [&](int port) { EXPECT_EQ(exchanged(port, "x"), ""); });
    EXPECT_EQ(warnings_, (std::vector<std::string>{"TensorBoard does not run"}));
}

TEST_F(PortForwardTest, TakenPort) {
    HttpClient api({.host = "127.0.0.1", .port = 1, .tls = false});
    const auto first = PortForward::open(api, 0, kPort, {});
    ASSERT_TRUE(first);
    const auto second = PortForward::open(api, (*first)->port(), kPort, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::unavailable);
}

}  // namespace
}  // namespace tessera
