#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/http/raw_peer_test.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{10};

class Server : public ::testing::Test {
  protected:
    Server() {
        const auto port = server_.listen();
        EXPECT_TRUE(port);
        port_ = port.value_or(0);
        thread_ = std::jthread([this](const std::stop_token& stop) { server_.serve(stop); });
    }

    [[nodiscard]] int post(std::size_t body_bytes) const {
        HttpClient client({.host = "127.0.0.1", .port = port_, .tls = false});
        const auto answer =
            client.send({"POST", "/echo", std::string(body_bytes, 'x'), ""}, kDeadline);
        EXPECT_TRUE(answer) << answer.error().text;
        return answer ? answer->status : 0;
    }

    HttpResponse answer(const HttpRequest& request) {
        if (request.body.size() > kLarge) {
            inside_.set_value();
            release_.get_future().wait();
        }
        return {.status = 200, .body = std::to_string(request.body.size())};
    }

    static constexpr std::size_t kLarge = 1'000;
    std::promise<void> inside_;
    std::promise<void> release_;
    HttpServer server_{
        {.max_body_bytes = 10'000, .large_body_bytes = kLarge, .large_bodies_at_once = 1},
        [this](HttpRequest& request) { return answer(request); }};
    int port_ = 0;
    std::jthread thread_;
};

// Goal: the number of large bodies in memory is limited; small ones do not wait for them, and the
// slot is released.
TEST_F(Server, LargeBodiesAtOnce) {
    auto first = std::async(std::launch::async, [this] { return post(kLarge + 1); });
    inside_.get_future().wait();
    EXPECT_EQ(post(kLarge + 1), 503);
    EXPECT_EQ(post(kLarge), 200);
    inside_ = {};
    release_.set_value();
    EXPECT_EQ(first.get(), 200);
    EXPECT_EQ(post(kLarge), 200);
    release_ = {};
    release_.set_value();
    EXPECT_EQ(post(kLarge + 1), 200);
}

// Goal: a connection can be used for another request after a refusal.
TEST_F(Server, RefusalKeepsTheConnection) {
    auto first = std::async(std::launch::async, [this] { return post(kLarge + 1); });
    inside_.get_future().wait();
    HttpClient client({.host = "127.0.0.1", .port = port_, .tls = false});
    const std::string large(kLarge + 1, 'x');
    EXPECT_EQ(client.send({"POST", "/echo", large, ""}, kDeadline)->status, 503);
    EXPECT_EQ(client.send({"POST", "/echo", "abc", ""}, kDeadline)->body, "3");
    release_.set_value();
    EXPECT_EQ(first.get(), 200);
}

TEST_F(Server, BodyAboveTheLimit) {
    EXPECT_EQ(post(10'001), 413);
    EXPECT_EQ(post(3), 200);
}

// A server whose paths say what it does: /wait answers when it is released; any other path answers
// at once with a text that could be compressed well.
class Served {
  public:
    explicit Served(HttpServerOptions options)
        : server_(options, [this](HttpRequest& request) {
              if (request.path == "/wait") {
                  inside_.set_value();
                  release_.get_future().wait();
              }
              return HttpResponse{.body = std::string(4'000, 'a') + request.body};
          }) {
        const auto port = server_.listen();
        EXPECT_TRUE(port) << port.error().text;
        port_ = port.value_or(0);
        ended_ = std::async(std::launch::async, [this] { server_.serve(stop_.get_token()); });
    }
    ~Served() { stop_.request_stop(); }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    [[nodiscard]] int port() const { return port_; }
    void wait_until_inside() { inside_.get_future().wait(); }
    void let_go() { release_.set_value(); }
    void stop() { stop_.request_stop(); }
    // Whether it ends long before an idle connection would.
    bool ends() { return ended_.wait_for(std::chrono::seconds(15)) == std::future_status::ready; }

  private:
    std::promise<void> inside_;
    std::promise<void> release_;
    HttpServer server_;
    int port_ = 0;
    std::stop_source stop_;
    std::future<void> ended_;
};

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kEndOfHead = "\r\n\r\n";

// Goal: connections that wait for their next request, or have sent nothing, or half a request, do
// not delay others. Method: many more of them than threads.
TEST(HttpServer, IdleConnectionsHoldNoThread) {
    Served served({.threads = 2});
    std::vector<RawPeer> idle;
    for (int i = 0; i < 40; ++i) {
        idle.push_back(RawPeer::connect(served.port()));
        if (i % 2 == 0) continue;
        idle.back().send(kGet);
        idle.back().read_until(kEndOfHead);
    }
    HttpClient client({.host = "127.0.0.1", .port = served.port(), .tls = false});
    const auto answer = client.send({"GET", "/healthz", "", ""}, std::chrono::seconds(5));
    EXPECT_TRUE(answer) << answer.error().text;
    idle[0].send(kGet);
    EXPECT_TRUE(idle[0].read_until(kEndOfHead).starts_with("HTTP/1.1 200")) << "it is served yet";
}

// Goal: a stop closes idle connections at once and finishes the answer in progress.
TEST(HttpServer, Stop) {
    Served served({.threads = 4});
    RawPeer idle = RawPeer::connect(served.port());
    RawPeer used = RawPeer::connect(served.port());
    used.send(kGet);
    used.read_until(kEndOfHead);
    RawPeer waiting = RawPeer::connect(served.port());
    waiting.send("POST /wait HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    served.wait_until_inside();
    served.stop();
    served.let_go();
    EXPECT_TRUE(waiting.read_until("aaabc").ends_with("aaabc"));
    EXPECT_TRUE(served.ends());
    idle.read_all();
    used.read_all();
    EXPECT_TRUE(idle.closed());
    EXPECT_TRUE(used.closed());
}

// Goal: half a request does not delay the stop by its time limit of ten seconds.
TEST(HttpServer, StopWithHalfARequest) {
    Served served({.threads = 1, .exchange = std::chrono::minutes(1)});
    RawPeer half = RawPeer::connect(served.port());
    half.send("POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the server reads it meanwhile
    served.stop();
    EXPECT_TRUE(served.ends());
}

// Goal: a client whose idle connection was closed gets its answer, also to a POST. Method: the
// server stops and another one uses its port.
TEST(HttpServer, ClientsReconnect) {
    auto served = std::make_unique<Served>(HttpServerOptions{});
    const int port = served->port();
    HttpClient client({.host = "127.0.0.1", .port = port, .tls = false});
    EXPECT_EQ(client.send({"POST", "/x", "1", ""}, kDeadline)->status, 200);
    served.reset();
    served = std::make_unique<Served>(HttpServerOptions{.port = port});
    const auto answer = client.send({"POST", "/x", "2", ""}, kDeadline);
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_TRUE(answer->body.ends_with("a2"));
}

// Goal: two instances cannot share a port, which would give each half of the requests.
TEST(HttpServer, PortIsTaken) {
    Served served({});
    HttpServer second({.port = served.port()}, [](HttpRequest&) { return HttpResponse{}; });
    const auto port = second.listen();
    ASSERT_FALSE(port);
    EXPECT_EQ(port.error().code, Code::unavailable);
}

// Goal: a body of unknown size is refused at once; the bytes after it are not read as a request.
TEST(HttpServer, LengthIsRequired) {
    Served served({});
    for (const char* header : {"", "Transfer-Encoding: identity\r\n"}) {
        RawPeer peer = RawPeer::connect(served.port());
        peer.send(std::string("POST /x HTTP/1.1\r\n") + header +
                  "\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n");
        const std::string answer = peer.read_all();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 411 Length Required\r\n")) << answer;
        EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
        EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
        EXPECT_TRUE(peer.closed());
    }
    RawPeer chunks = RawPeer::connect(served.port());
    chunks.send("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbc\r\n0\r\n\r\n");
    EXPECT_TRUE(chunks.read_until("aabc").ends_with("aabc"));
}

// Goal: a body where none is expected is not read as the next request. A body is refused if its
// size is given twice, or is that of compressed data.
TEST(HttpServer, BodiesThatHide) {
    Served served({});
    const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"GET /x HTTP/1.1\r\n" + length, "200 OK"},
        {"OPTIONS /x HTTP/1.1\r\n" + length, "200 OK"},
        {"GET /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", "200 OK"},
        {"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n",
         "400 Bad Request"},
        {"POST /x HTTP/1.1\r\nContent-Encoding: gzip\r\n" + length, "415 "},
        {"POST /x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n", "400 "},
        {"GET /x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n", "400 "},
        {"DELETE /x HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n", "411 "},
        {"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
         "400 "},
        {"GET /x HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "400 "},
        {"PROPFIND /x HTTP/1.1\r\n" + length, "501 Not Implemented"},
    };
    for (const auto& [head, status] : cases) {
        RawPeer peer = RawPeer::connect(served.port());
        peer.send(head + "\r\n" + hidden);
        const std::string answer = peer.read_all();
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status)) << answer;
        EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
        EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
        EXPECT_TRUE(peer.closed());
    }
}

// Goal: a client that asks before it sends its body is asked for it, unless the request is refused.
TEST(HttpServer, ExpectContinue) {
    Served served({.max_body_bytes = 10});
    RawPeer peer = RawPeer::connect(served.port());
    peer.send("POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(peer.read_until(kEndOfHead), "HTTP/1.1 100 Continue\r\n\r\n");
    peer.send("bc");
    EXPECT_TRUE(peer.read_until("aabc").ends_with("aabc"));
    peer.send("POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
    EXPECT_TRUE(peer.read_all().starts_with("HTTP/1.1 413 "));
    EXPECT_TRUE(peer.closed());
}

// Goal: a handler that fails, and a header's value from a request that would begin another header,
// harm only their own request.
TEST(HttpServer, FaultsOfHandlers) {
    HttpServer server({}, [](const HttpRequest& request) -> HttpResponse {
        if (request.path == "/throws") throw std::runtime_error("a fault");
        return {.status = 301, .body = "", .location = request.path};
    });
    const auto port = server.listen();
    ASSERT_TRUE(port);
    std::jthread thread([&server](const std::stop_token& stop) { server.serve(stop); });
    RawPeer peer = RawPeer::connect(*port);
    const std::uint64_t logged = event_count(Event::request_failed);
    peer.send("GET /throws HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(peer.read_until(kEndOfHead).starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
    EXPECT_EQ(event_count(Event::request_failed), logged + 1);
    peer.send("GET /a%0d%0aSet-Cookie:b HTTP/1.1\r\n\r\n");
    const std::string answer = peer.read_until(kEndOfHead);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 301 ")) << answer;
    EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Location"), std::string::npos) << answer;
}

// Goal: the limit of a body applies to one in chunks, too.
TEST(HttpServer, ChunksAboveTheLimit) {
    Served served({.max_body_bytes = 1'000});
    RawPeer peer = RawPeer::connect(served.port());
    peer.send("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
              std::string(1'001, 'x') + "\r\n0\r\n\r\n");
    EXPECT_TRUE(peer.read_all().starts_with("HTTP/1.1 413 "));
    EXPECT_TRUE(peer.closed());
}

// Goal: answers are never compressed. Go's clients ask for gzip in every request, and compressing a
// list of names takes three times as long as everything else.
TEST(HttpServer, NeverCompresses) {
    Served served({});
    RawPeer peer = RawPeer::connect(served.port());
    peer.send("POST /x HTTP/1.1\r\nAccept-Encoding: gzip, br\r\nContent-Length: 1\r\n\r\nz");
    const std::string answer = peer.read_until("aaz");
    EXPECT_TRUE(answer.ends_with("aaz"));
    EXPECT_NE(answer.find("Content-Length: 4001\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("Content-Encoding"), std::string::npos);
}

// Goal: several requests in one packet are all answered.
TEST(HttpServer, Pipeline) {
    Served served({});
    RawPeer peer = RawPeer::connect(served.port());
    std::string requests;
    for (const char* body : {"1", "2", "3"})
        requests += std::string("POST /x HTTP/1.1\r\nContent-Length: 1\r\n\r\n") + body;
    peer.send(requests);
    const std::string answers = peer.read_until("aa3");
    EXPECT_LT(answers.find("aa1"), answers.find("aa2"));
    EXPECT_LT(answers.find("aa2"), answers.find("aa3"));
}

// Goal: the time limit is for the whole request, however its bytes arrive; the size of a header is
// limited.
TEST(HttpServer, SlowAndEndlessRequests) {
    Served served({.exchange = std::chrono::milliseconds(300)});
    RawPeer slow = RawPeer::connect(served.port());
    slow.send("POST /x HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
    int sent = 0;
    while (sent < 1'000 && slow.send("x")) {
        ++sent;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_LT(sent, 1'000);
    RawPeer endless = RawPeer::connect(served.port());
    endless.send("GET /");
    const std::string piece(1 << 16, 'x');
    int pieces = 0;
    while (pieces < 1'000 && endless.send(piece))
        ++pieces;
    EXPECT_LT(pieces, 1'000);
}

// Goal: the number of connections is limited; the existing ones are served.
TEST(HttpServer, MostConnections) {
    Served served({.most_connections = 2});
    RawPeer first = RawPeer::connect(served.port());
    RawPeer second = RawPeer::connect(served.port());
    for (RawPeer* peer : {&first, &second}) {
        peer->send(kGet);
        EXPECT_TRUE(peer->read_until(kEndOfHead).starts_with("HTTP/1.1 200"));
    }
    RawPeer third = RawPeer::connect(served.port());
    third.read_all();
    EXPECT_TRUE(third.closed());
    first.send(kGet);
    EXPECT_TRUE(first.read_until(kEndOfHead).find("HTTP/1.1 200") != std::string::npos);
}

}  // namespace
}  // namespace tessera
