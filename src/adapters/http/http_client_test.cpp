#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/http/raw_peer_test.hpp"
#include "adapters/http/tls_server_test.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{10};
// Longer than any wait of a test: an earlier end was caused by the code.
constexpr std::chrono::seconds kFar{120};

HttpEndpoint plain(int port) {
    return {.host = "127.0.0.1", .port = port, .tls = false};
}

// Sends `head`, then a byte now and then for some seconds. Stops when the other side is gone.
void drip(const RawListener& listener, std::string_view head) {
    RawPeer peer = listener.accept();
    peer.read_until("\r\n\r\n");
    peer.send(head);
    for (int i = 0; i < 400 && peer.send("x"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Goal: a deadline is for the whole answer, whatever the server does meanwhile. Method: servers
// that send a byte now and then: of a body, of a body without an end, of a header.
TEST(HttpClient, DeadlineOfTheWhole) {
    for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n",
                             "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: "}) {
        const RawListener listener;
        const std::jthread server([&] { drip(listener, head); });
        HttpClient client(plain(listener.port()));
        const auto answer = client.send({"GET", "/", "", ""}, std::chrono::milliseconds(200));
        ASSERT_FALSE(answer) << head;
        EXPECT_EQ(answer.error().code, Code::unavailable);
        EXPECT_NE(answer.error().text.find("takes too long"), std::string::npos)
            << answer.error().text;
    }
}

// Goal: if the server closed an idle connection, the client uses a new one. A POST that the server
// may have read is not sent twice.
TEST(HttpClient, ClosedWhileIdle) {
    const RawListener listener;
    std::atomic<int> posts = 0;
    const std::jthread server([&] {
        for (const bool goes_on : {true, true, false}) {
            RawPeer peer = listener.accept();
            peer.read_until("\r\n\r\n");
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            // The next request is read and the connection closed without an answer.
            const std::string request = peer.read_until("\r\n\r\n");
            if (request.starts_with("POST")) ++posts;
            if (!goes_on) return;
        }
    });
    HttpClient client(plain(listener.port()));
    EXPECT_TRUE(client.send({"GET", "/", "", ""}, kDeadline));
    EXPECT_TRUE(client.send({"GET", "/", "", ""}, kDeadline)) << "over a connection of its own";
    EXPECT_FALSE(client.send({"POST", "/", "", ""}, kDeadline));
    EXPECT_TRUE(client.send({"GET", "/", "", ""}, kDeadline));
    EXPECT_EQ(posts, 1);
    EXPECT_FALSE(client.send({"POST", "/", "", ""}, kDeadline));
}

// Goal: every request has the server's path prefix.
TEST(HttpClient, PathPrefix) {
    const RawListener listener;
    std::string request;
    {
        const std::jthread server([&] {
            RawPeer peer = listener.accept();
            request = peer.read_until("\r\n\r\n");
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        HttpEndpoint endpoint = plain(listener.port());
        endpoint.path_prefix = "/k8s/clusters/c-1";
        EXPECT_TRUE(HttpClient(endpoint).send({"GET", "/api?x=1", "", ""}, kDeadline));
    }
    EXPECT_TRUE(request.starts_with("GET /k8s/clusters/c-1/api?x=1 HTTP/1.1\r\n")) << request;
}

// Goal: with a proxy, requests go there.
TEST(HttpClient, Proxy) {
    const RawListener listener;
    std::string request;
    {
        const std::jthread server([&] {
            RawPeer peer = listener.accept();
            request = peer.read_until("\r\n\r\n");
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        HttpEndpoint endpoint{.host = "api.example", .port = 6443, .tls = false};
        endpoint.proxy_url = "http://127.0.0.1:" + std::to_string(listener.port());
        const auto answer = HttpClient(endpoint).send({"GET", "/api", "", ""}, kDeadline);
        EXPECT_TRUE(answer) << answer.error().text;
    }
    EXPECT_TRUE(request.starts_with("GET http://api.example:6443/api HTTP/1.1\r\n")) << request;
}

class Stream : public ::testing::Test {
  protected:
    void begin(HttpEndpoint endpoint) {
        client_ = std::make_unique<HttpClient>(std::move(endpoint));
        ended_ = std::async(std::launch::async, [this] {
            return client_->stream(
                "/",
                [this](std::string_view data) {
                    got_ += data;
                    return true;
                },
                kFar, stop_.get_token());
        });
    }
    bool ends() { return ended_.wait_for(std::chrono::seconds(15)) == std::future_status::ready; }

    const RawListener listener_;
    std::unique_ptr<HttpClient> client_;
    std::string got_;
    std::stop_source stop_;
    std::future<Result<HttpResponse>> ended_;
};

// Goal: a stop ends a stream at any time: before it has begun, while the server does not answer the
// TLS hello, before its header, in the middle of its body.
TEST_F(Stream, StoppedBefore) {
    stop_.request_stop();
    begin(plain(listener_.port()));
    EXPECT_TRUE(ends());
    EXPECT_EQ(ended_.get()->status, 0);
}

TEST_F(Stream, StoppedInTheHandshake) {
    begin({.host = "127.0.0.1", .port = listener_.port()});
    RawPeer peer = listener_.accept();
    stop_.request_stop();
    EXPECT_TRUE(ends());
    EXPECT_TRUE(ended_.get());
}

TEST_F(Stream, StoppedBeforeTheHeader) {
    begin(plain(listener_.port()));
    RawPeer peer = listener_.accept();
    peer.read_until("\r\n\r\n");
    stop_.request_stop();
    EXPECT_TRUE(ends());
    EXPECT_TRUE(ended_.get());
}

TEST_F(Stream, StoppedInTheBody) {
    begin(plain(listener_.port()));
    RawPeer peer = listener_.accept();
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    stop_.request_stop();
    EXPECT_TRUE(ends());
    EXPECT_TRUE(ended_.get());
}

// Goal: received data is passed on. The end of the body is no error, an end in the middle is one.
TEST_F(Stream, Ends) {
    begin(plain(listener_.port()));
    {
        RawPeer peer = listener_.accept();
        peer.read_until("\r\n\r\n");
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        ASSERT_TRUE(ends());
    }
    EXPECT_EQ(ended_.get()->status, 200);
    EXPECT_EQ(got_, "abc");
    begin(plain(listener_.port()));
    {
        RawPeer peer = listener_.accept();
        peer.read_until("\r\n\r\n");
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na");
    }
    ASSERT_TRUE(ends());
    EXPECT_EQ(ended_.get().error().code, Code::unavailable);
}

class Tls : public ::testing::Test {
  protected:
    // The server's answer, or the error.
    static std::string request(const HttpEndpoint& endpoint) {
        const auto answer = HttpClient(endpoint).send({"GET", "/", "", ""}, kDeadline);
        return answer ? answer->body : answer.error().text;
    }
    [[nodiscard]] HttpEndpoint endpoint(const TlsServer& server) const {
        HttpEndpoint out{.host = "127.0.0.1", .port = server.port()};
        out.ca_pem = authority_.certificate_pem();
        return out;
    }

    const Identity authority_ = Identity::make("authority", nullptr, "");
    const Identity stranger_ = Identity::make("stranger", nullptr, "");
    const Identity server_ = Identity::make("server", &authority_, "IP:127.0.0.1,DNS:api.example");
    const Identity between_ = Identity::make("between", &authority_, "");
    const Identity client_ = Identity::make("client", &between_, "DNS:client");
};

// Goal: a server is trusted only if both its authority and its name are right.
TEST_F(Tls, BelievesAuthorityAndName) {
    const TlsServer server(server_);
    HttpEndpoint to = endpoint(server);
    EXPECT_EQ(request(to), "anonymous");
    to.tls_server_name = "api.example";
    EXPECT_EQ(request(to), "anonymous");
    to.tls_server_name = "other.example";
    EXPECT_NE(
        request(to).find("its certificate is not good: SSL: no alternative certificate subject "
                         "name matches target host name 'other.example'"),
        std::string::npos)
        << request(to);
    to.verify = false;
    EXPECT_EQ(request(to), "anonymous");
    to = endpoint(server);
    to.ca_pem = stranger_.certificate_pem();
    EXPECT_NE(request(to).find("its certificate is not good: "), std::string::npos) << request(to);
    to.ca_pem.clear();
    EXPECT_NE(request(to).find("its certificate is not good: "), std::string::npos) << request(to);
    to.ca_pem = stranger_.certificate_pem() + authority_.certificate_pem();
    EXPECT_EQ(request(to), "anonymous") << "one of several authorities";
}

// Goal: the client's certificate is sent with its chain, because the server knows only the root.
TEST_F(Tls, ShowsItsChain) {
    const TlsServer server(server_, &authority_);
    HttpEndpoint to = endpoint(server);
    to.client_cert_pem = client_.certificate_pem() + between_.certificate_pem();
    to.client_key_pem = client_.key_pem();
    EXPECT_EQ(request(to), "client");
    to.client_cert_pem = client_.certificate_pem();
    EXPECT_NE(request(to), "client") << "its issuer is unknown";
}

// Goal: credentials that cannot be used are named. To leave them out would make the client
// anonymous.
TEST_F(Tls, NamesWhatIsWrong) {
    const std::string certificate = client_.certificate_pem();
    const std::string key = client_.key_pem();
    const std::string authority = authority_.certificate_pem();
    const std::string broken = certificate.substr(0, 100) + "\n-----END CERTIFICATE-----\n";
    struct Case {
        std::string ca;
        std::string certificate;
        std::string key;
        std::string fault;  // how the error starts; empty: none
    };
    const std::vector<Case> cases = {
        {authority, certificate, key, ""},
        {"", "", "", ""},
        {"rubbish", "", "", "certificate-authority: "},
        {authority + broken, "", "", "certificate-authority: "},
        {authority, "rubbish", key, "client-certificate: "},
        {authority, key, key, "client-certificate: "},
        {authority, broken, key, "client-certificate: "},
        {authority, certificate + broken, key, "client-certificate: its chain"},
        {authority, certificate, "rubbish", "client-key: "},
        {authority, certificate, certificate, "client-key: "},
        {authority, certificate, between_.key_pem(), "client-key: does not belong"},
    };
    for (const Case& c : cases) {
        HttpEndpoint to{.host = "127.0.0.1", .port = 1};
        to.ca_pem = c.ca;
        to.client_cert_pem = c.certificate;
        to.client_key_pem = c.key;
        const auto checked = check_credentials(to);
        ASSERT_EQ(checked.has_value(), c.fault.empty()) << c.fault;
        if (checked) continue;
        EXPECT_EQ(checked.error().code, Code::invalid_argument);
        EXPECT_TRUE(checked.error().text.starts_with(c.fault)) << checked.error().text;
        EXPECT_EQ(request(to), checked.error().text) << "and it is what every call answers";
    }
}

// Goal: the deadline applies to a server that does not answer the TLS hello, and to one without
// TLS.
TEST_F(Tls, SilentAndForeignServers) {
    const RawListener listener;
    HttpClient client({.host = "127.0.0.1", .port = listener.port()});
    const auto silent = client.send({"GET", "/", "", ""}, std::chrono::milliseconds(100));
    ASSERT_FALSE(silent);
    EXPECT_NE(silent.error().text.find("takes too long"), std::string::npos) << silent.error().text;
    const std::jthread server([&] {
        (void)listener.accept();  // the connection from above
        listener.accept().send("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    const auto foreign = client.send({"GET", "/", "", ""}, kDeadline);
    ASSERT_FALSE(foreign);
    EXPECT_NE(foreign.error().text.find("no TLS with it"), std::string::npos)
        << foreign.error().text;
}

}  // namespace
}  // namespace tessera
