#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/http/raw_peer_test.hpp"
#include "adapters/http/server_tls.hpp"
#include "adapters/http/tls_server_test.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kDeadline{10};

// The files of a Secret as kubelet mounts them: one symlink replaces all of them together.
class SecretFolder {
  public:
    SecretFolder() {
        std::string name = fs::temp_directory_path() / "tessera-tls-XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        for (const char* file : {"tls.crt", "tls.key", "ca.crt"})
            fs::create_symlink(fs::path("..data") / file, root_ / file);
    }
    ~SecretFolder() { fs::remove_all(root_); }
    SecretFolder(const SecretFolder&) = delete;
    SecretFolder& operator=(const SecretFolder&) = delete;

    void put(const std::string& certificate, const std::string& key, const std::string& ca) {
        const fs::path next = "..version-" + std::to_string(++versions_);
        fs::create_directory(root_ / next);
        std::ofstream(root_ / next / "tls.crt") << certificate;
        std::ofstream(root_ / next / "tls.key") << key;
        std::ofstream(root_ / next / "ca.crt") << ca;
        fs::create_symlink(next, root_ / "..data_tmp");
        fs::rename(root_ / "..data_tmp", root_ / "..data");
    }
    void put(const Identity& server, const Identity& clients) {
        put(server.certificate_pem(), server.key_pem(), clients.certificate_pem());
    }
    [[nodiscard]] HttpTlsFiles files() const {
        return {root_ / "tls.crt", root_ / "tls.key", root_ / "ca.crt"};
    }

  private:
    fs::path root_;
    int versions_ = 0;
};

// A client with full control over its bytes.
class TlsPeer {
  public:
    explicit TlsPeer(int port, int newest = TLS1_3_VERSION)
        : peer_(RawPeer::connect(port)),
          context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
          ssl_(nullptr, SSL_free) {
        SSL_CTX_set_max_proto_version(context_.get(), newest);
        SSL_CTX_set_security_level(context_.get(), 0);
        ssl_.reset(SSL_new(context_.get()));
        SSL_set_fd(ssl_.get(), peer_.fd());
        connected_ = SSL_connect(ssl_.get()) == 1;
    }
    [[nodiscard]] bool connected() const { return connected_; }
    [[nodiscard]] long serial() const {
        const X509* shown = SSL_get0_peer_certificate(ssl_.get());
        return ASN1_INTEGER_get(X509_get0_serialNumber(shown));
    }
    void send(std::string_view text) const {
        EXPECT_EQ(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())),
                  static_cast<int>(text.size()));
    }
    // What comes until `end`, or until the server closes.
    std::string read_until(std::string_view end) const {
        std::string got;
        std::array<char, 4096> buffer{};
        while (got.find(end) == std::string::npos) {
            const int count = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
            if (count <= 0) break;
            got.append(buffer.data(), static_cast<std::size_t>(count));
        }
        return got;
    }

  private:
    RawPeer peer_;
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
    std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
    bool connected_ = false;
};

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

class TlsHttpServer : public ::testing::Test {
  protected:
    TlsHttpServer() { secret_.put(server_, authority_); }

    // Answers a POST with the size of its body, and anything else with the client's identity.
    void serve(HttpServerOptions options, const HttpServer::Gate& gate = {}) {
        options.tls = secret_.files();
        http_ = std::make_unique<HttpServer>(
            options,
            [](HttpRequest& request) {
                return HttpResponse{.body = request.path + std::to_string(request.body.size())};
            },
            gate);
        const auto port = http_->listen();
        ASSERT_TRUE(port) << port.error().text;
        port_ = *port;
        thread_ = std::jthread([this](const std::stop_token& stop) { http_->serve(stop); });
    }
    [[nodiscard]] HttpEndpoint endpoint(const Identity* own = nullptr) const {
        HttpEndpoint out{.host = "127.0.0.1", .port = port_};
        out.ca_pem = authority_.certificate_pem();
        if (own != nullptr) {
            out.client_cert_pem = own->certificate_pem();
            out.client_key_pem = own->key_pem();
        }
        return out;
    }
    [[nodiscard]] std::string get(const Identity* own) const {
        const auto answer = HttpClient(endpoint(own)).send({"GET", "/x", "", ""}, kDeadline);
        return answer ? std::to_string(answer->status) + " " + answer->body : answer.error().text;
    }

    const Identity authority_ = Identity::make("authority", nullptr, "");
    const Identity server_ = Identity::make("server", &authority_, "IP:127.0.0.1");
    const Identity client_ = Identity::make("kube-scheduler", &authority_, "DNS:scheduler");
    SecretFolder secret_;
    std::unique_ptr<HttpServer> http_;
    int port_ = 0;
    std::jthread thread_;
};

// Goal: requests of any size, one after another on one connection, and nothing older than TLS 1.2.
TEST_F(TlsHttpServer, Speaks) {
    serve({.threads = 2});
    HttpClient client(endpoint(&client_));
    for (const std::size_t size : {std::size_t{0}, std::size_t{20'000}, std::size_t{5'000'000}}) {
        const auto answer = client.send({"POST", "/x", std::string(size, 'x'), ""}, kDeadline);
        ASSERT_TRUE(answer) << answer.error().text;
        EXPECT_EQ(answer->body, "/x" + std::to_string(size));
    }
    const TlsPeer older(port_, TLS1_2_VERSION);
    ASSERT_TRUE(older.connected());
    older.send(std::string(kGet) + std::string(kGet));
    EXPECT_TRUE(older.read_until("/x0").ends_with("/x0"));
    EXPECT_TRUE(older.read_until("/x0").ends_with("/x0"));
    EXPECT_FALSE(TlsPeer(port_, TLS1_1_VERSION).connected());
    RawPeer plain = RawPeer::connect(port_);
    plain.send(kGet);
    EXPECT_EQ(plain.read_all().find("HTTP/1.1"), std::string::npos);
}

// Goal: the gate knows the client, and the body of an unauthenticated client is not awaited.
// Method: the announced body never comes.
TEST_F(TlsHttpServer, GateKnowsWhoAsks) {
    Mutex mutex;
    std::vector<HttpHead> heads;
    serve({.threads = 2, .exchange = std::chrono::minutes(1)}, [&](const HttpHead& head) {
        const MutexLock lock(mutex);
        heads.push_back(head);
        if (head.has_certificate) return std::optional<HttpResponse>();
        return std::optional(
            HttpResponse{.status = 401, .body = "unknown client", .authenticate = "Bearer"});
    });
    EXPECT_EQ(get(&client_), "200 /x0");
    const TlsPeer stranger(port_);
    stranger.send("POST /y?z HTTP/1.1\r\nContent-Length: 9\r\nAuthorization: bearer t\r\n\r\n");
    const std::string answer = stranger.read_until("unknown client");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
    EXPECT_NE(answer.find("WWW-Authenticate: Bearer\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
    const MutexLock lock(mutex);
    ASSERT_EQ(heads.size(), 2U);
    EXPECT_TRUE(heads[0].has_certificate);
    EXPECT_EQ(heads[0].certificate_name, "kube-scheduler");
    EXPECT_EQ(heads[0].bearer_token, "");
    EXPECT_EQ(heads[1].method + heads[1].path + heads[1].bearer_token, "POST/yt");
    EXPECT_FALSE(heads[1].has_certificate);
    EXPECT_EQ(heads[1].certificate_name, "");
}

// Goal: certificates that come from a function can have authorities of clients, too.
TEST_F(TlsHttpServer, TakesAuthoritiesFromAFunction) {
    HttpServer server(
        {.tls_source = [this]() -> Result<HttpTlsPems> {
            return HttpTlsPems{server_.certificate_pem(), server_.key_pem(),
                               authority_.certificate_pem()};
        }},
        [](HttpRequest& request) { return HttpResponse{.body = request.query}; },
        [](const HttpHead& head) {
            return head.certificate_name == "kube-scheduler"
                       ? std::optional<HttpResponse>()
                       : std::optional(HttpResponse{.status = 403, .body = {}});
        });
    const auto port = server.listen();
    ASSERT_TRUE(port) << port.error().text;
    port_ = *port;
    const std::jthread thread([&](const std::stop_token& stop) { server.serve(stop); });
    const auto sent =
        HttpClient(endpoint(&client_)).send({.method = "GET", .path = "/?a"}, kDeadline);
    ASSERT_TRUE(sent) << sent.error().text;
    EXPECT_EQ(sent->body, "a");
    const Identity other = Identity::make("other", &authority_, "DNS:x");
    // An API server may show its client certificate to every webhook.
    const Identity stranger = Identity::make("stranger", nullptr, "");
    const Identity forged = Identity::make("kube-scheduler", &stranger, "DNS:scheduler");
    for (const Identity* own :
         {static_cast<const Identity*>(nullptr), &other, &stranger, &forged}) {
        const auto refused =
            HttpClient(endpoint(own)).send({.method = "GET", .path = "/"}, kDeadline);
        ASSERT_TRUE(refused) << refused.error().text;
        EXPECT_EQ(refused->status, 403);
    }
}

// Goal: a certificate is accepted while it is valid, and no other one is.
TEST_F(TlsHttpServer, WhoseCertificateCounts) {
    serve({}, [](const HttpHead& head) {
        return std::optional(HttpResponse{.body = head.has_certificate ? "known" : "unknown"});
    });
    const Identity stranger = Identity::make("stranger", nullptr, "");
    const Identity forged = Identity::make("kube-scheduler", &stranger, "DNS:scheduler");
    const Identity ended = Identity::make("ended", &authority_, "DNS:x", seconds(-10));
    EXPECT_EQ(get(&client_), "200 known");
    EXPECT_EQ(get(nullptr), "200 unknown");
    for (const Identity* bad : {&stranger, &forged, &ended})
        EXPECT_EQ(get(bad).find("200 "), std::string::npos) << get(bad);
    // Long enough to be used in time on a busy machine.
    const Identity brief = Identity::make("brief", &authority_, "DNS:x", seconds(4));
    HttpClient on_one_connection(endpoint(&brief));
    EXPECT_EQ(on_one_connection.send({"GET", "/x", "", ""}, kDeadline)->body, "known");
    std::this_thread::sleep_for(milliseconds(4'500));
    EXPECT_EQ(on_one_connection.send({"GET", "/x", "", ""}, kDeadline)->body, "unknown");
}

// Goal: a renewed certificate is used without a restart. Connections with the old one end after an
// answer, and no answer is lost.
TEST_F(TlsHttpServer, RenewsItsCertificate) {
    serve({.threads = 2, .tls_refresh = milliseconds(20)});
    const TlsPeer before(port_);
    before.send(kGet);
    EXPECT_EQ(before.read_until("/x0").find("Connection: close"), std::string::npos);
    const Identity renewed = Identity::make("renewed", &authority_, "IP:127.0.0.1");
    HttpClient client(endpoint(&client_));
    secret_.put(renewed, authority_);
    const long old = before.serial();
    for (int i = 0; i < 500 && TlsPeer(port_).serial() == old; ++i) {
        EXPECT_EQ(client.send({"POST", "/x", "1", ""}, kDeadline)->status, 200);
        std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_NE(TlsPeer(port_).serial(), old);
    EXPECT_EQ(client.send({"POST", "/x", "1", ""}, kDeadline)->status, 200);
    before.send(kGet);
    const std::string last = before.read_until("\n\n never");
    EXPECT_NE(last.find("Connection: close\r\n"), std::string::npos) << last;
    EXPECT_TRUE(last.ends_with("/x0")) << last;
}

// Goal: a client that sends requests without a pause must show its certificate again after the same
// time as others.
TEST_F(TlsHttpServer, RenewsWhileOneAsksWithoutAPause) {
    serve({.threads = 2, .tls_refresh = milliseconds(20)});
    const TlsPeer busy(port_);
    const long old = busy.serial();
    const Identity renewed = Identity::make("renewed", &authority_, "IP:127.0.0.1");
    secret_.put(renewed, authority_);
    std::string got;
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (got.find("Connection: close") == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "it goes on for ever";
        busy.send(kGet);
        got = busy.read_until("/x0");
    }
    EXPECT_NE(TlsPeer(port_).serial(), old);
}

// Goal: files that cannot be used are reported once and change nothing; usable files are taken
// later.
TEST_F(TlsHttpServer, KeepsWhatIsGood) {
    auto tls = ServerTls::open(source_of_files(secret_.files()), secret_.files());
    ASSERT_TRUE(tls) << tls.error().text;
    std::vector<std::string> log;
    set_log_sink([&](Event event, std::initializer_list<LogField> fields) {
        log.push_back(std::string(event_name(event)) + " " + fields.begin()->text);
    });
    const SslPtr first = (*tls)->new_session(-1);
    const Identity other = Identity::make("other", &authority_, "IP:127.0.0.1");
    const auto refresh_thrice = [&] {
        for (int i = 0; i < 3; ++i)
            (*tls)->refresh();
    };
    refresh_thrice();
    EXPECT_TRUE(log.empty());
    secret_.put(other.certificate_pem(), server_.key_pem(), authority_.certificate_pem());
    refresh_thrice();
    secret_.put("", "", "");
    refresh_thrice();
    EXPECT_TRUE((*tls)->is_current(first.get()));
    ASSERT_EQ(log.size(), 2U);
    EXPECT_TRUE(log[0].starts_with("certificate_error ")) << log[0];
    EXPECT_NE(log[0].find("tls.key: does not belong to "), std::string::npos) << log[0];
    EXPECT_NE(log[1].find("tls.crt: is not a PEM certificate"), std::string::npos) << log[1];
    secret_.put(other, authority_);
    refresh_thrice();
    EXPECT_FALSE((*tls)->is_current(first.get()));
    ASSERT_EQ(log.size(), 3U);
    EXPECT_TRUE(log[2].starts_with("certificate_renewed ")) << log[2];
    set_log_sink({});
}

// Goal: a file that cannot be used is named at the start.
TEST_F(TlsHttpServer, NamesTheFile) {
    const std::string certificate = server_.certificate_pem();
    const std::string ca = authority_.certificate_pem();
    secret_.put(certificate, client_.key_pem(), ca);
    EXPECT_NE(check_tls_files(secret_.files()).error().text.find("tls.key: does not belong to /"),
              std::string::npos);
    secret_.put(certificate, server_.key_pem(), "rubbish");
    EXPECT_NE(check_tls_files(secret_.files()).error().text.find("ca.crt: is not a list of PEM"),
              std::string::npos);
    HttpTlsFiles files = secret_.files();
    files.key += ".none";
    EXPECT_NE(check_tls_files(files).error().text.find("tls.key.none"), std::string::npos);
    secret_.put(server_, authority_);
    EXPECT_TRUE(check_tls_files(secret_.files()));
}

// Goal: half a handshake uses no thread, and no connection for long, however its bytes come.
// Method: more of them than threads; the time is one that no thread could wait for.
TEST_F(TlsHttpServer, SlowHandshakes) {
    serve({.threads = 1, .exchange = seconds(2), .tls_refresh = milliseconds(50)});
    // A TLS record of 512 bytes begins, with a client's hello.
    constexpr std::string_view kHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    std::vector<RawPeer> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(RawPeer::connect(port_));
        if (i % 2 == 0) slow.back().send(kHello.substr(0, static_cast<std::size_t>(i / 2) + 1));
    }
    HttpClient client(endpoint(&client_));
    const auto answer = client.send({"GET", "/x", "", ""}, milliseconds(1'500));
    EXPECT_TRUE(answer) << answer.error().text;
    int sent = 0;
    while (sent < 400 && slow.back().send("\x16")) {
        ++sent;
        std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_LT(sent, 400) << "it is closed in the end";
    for (RawPeer& peer : slow) {
        peer.read_all();
        EXPECT_TRUE(peer.closed());
    }
}

// Goal: slow unauthenticated clients do not block a client with a certificate.
TEST_F(TlsHttpServer, SlowStrangers) {
    serve({.threads = 4, .exchange = std::chrono::minutes(1)});
    std::vector<std::unique_ptr<TlsPeer>> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(std::make_unique<TlsPeer>(port_));
        slow.back()->send("GET /slow");
    }
    std::this_thread::sleep_for(milliseconds(100));  // the server reads them meanwhile
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(get(&client_), "200 /x0");
}

// Goal: unauthenticated clients cannot take all the connections either.
TEST_F(TlsHttpServer, ManyStrangers) {
    serve({.threads = 2, .most_connections = 6});
    HttpClient known(endpoint(&client_));
    EXPECT_TRUE(known.send({"GET", "/x", "", ""}, kDeadline));
    std::vector<RawPeer> silent;
    silent.reserve(40);
    for (int i = 0; i < 40; ++i)
        silent.push_back(RawPeer::connect(port_));
    EXPECT_EQ(get(&client_), "200 /x0");
    EXPECT_TRUE(known.send({"POST", "/x", "", ""}, kDeadline)) << "on its old connection";
    silent.front().read_all();
    EXPECT_TRUE(silent.front().closed());
}

// Goal: unauthenticated clients with a completed handshake are closed before those that may still
// show a certificate.
TEST_F(TlsHttpServer, GreetedStrangers) {
    serve({.threads = 2, .most_connections = 6});
    std::vector<std::unique_ptr<TlsPeer>> greeted;
    greeted.reserve(5);
    for (int i = 0; i < 5; ++i)
        greeted.push_back(std::make_unique<TlsPeer>(port_));
    const RawPeer greeting = RawPeer::connect(port_);
    for (int i = 0; i < 5; ++i)
        greeted.push_back(std::make_unique<TlsPeer>(port_));
    pollfd entry{greeting.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 100), 0) << "it was ended";
}

// Goal: a stop ends connections in a handshake, and those that wait.
TEST_F(TlsHttpServer, Stop) {
    serve({.threads = 2});
    const TlsPeer idle(port_);
    RawPeer silent = RawPeer::connect(port_);
    const RawPeer half = RawPeer::connect(port_);
    half.send("\x16\x03");
    auto ended = std::async(std::launch::async, [this] {
        thread_.request_stop();
        thread_.join();
    });
    EXPECT_EQ(ended.wait_for(seconds(15)), std::future_status::ready);
    silent.read_all();
    EXPECT_TRUE(silent.closed());
}

}  // namespace
}  // namespace tessera
