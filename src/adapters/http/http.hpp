// HTTP messages, a client (on libcurl) and a server (with the parser of Boost.Beast).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct HttpRequest {
    std::string method;
    std::string path;  // on the client's side, with the query
    std::string body;
    std::string content_type;                 // on the client's side; empty: none
    std::string query{};                      // on the server's side, as it was sent
    std::string accept = "application/json";  // on the client's side
};

struct HttpResponse {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::string location;      // of a redirect
    std::string allow;         // of a 405
    std::string authenticate;  // of a 401: the WWW-Authenticate header
    int retry_after_s = 0;     // after this time the same request may have an answer; 0: not said
};

struct HttpCredentials {
    std::string authorization;    // the header's value; empty: none
    std::string client_cert_pem;  // both or none; with its chain, if there is one
    std::string client_key_pem;
};

// Credentials that change with time. Any thread may call.
class HttpCredentialSource {
  public:
    virtual ~HttpCredentialSource() = default;

    // Called for each request. The error says why there are none, and what fixes that.
    virtual Result<HttpCredentials> get() = 0;
    // The server answered 401 to them.
    virtual void refused(const HttpCredentials& /*credentials*/) {}
};

// The address of a server, and the credentials for it. PEM texts, not file names.
struct HttpEndpoint {
    std::string host;
    int port = 443;
    bool tls = true;
    bool verify = true;           // false only if the user's kubeconfig says so
    std::string path_prefix;      // of every request, for a proxy; empty or "/..."
    std::string tls_server_name;  // the name that its certificate must have; empty: `host`
    std::string ca_pem;           // empty: the system's certificate authorities
    std::string client_cert_pem;  // both or none; with its chain, if there is one
    std::string client_key_pem;
    std::string proxy_url;  // http, https or socks5; empty: the proxy of the environment, if any
    std::shared_ptr<HttpCredentialSource> credentials;  // null: the certificate alone
    bool is_direct = false;                             // without any proxy
    std::size_t most_answer_bytes = 0;                  // of the body of an answer; 0: no limit
};

// Errors: invalid_argument, with the PEM text of the endpoint that cannot be used.
Result<> check_credentials(const HttpEndpoint& endpoint);

class HttpConnection;

// A client of one server. Keeps idle connections; any thread may call it. The first client makes
// the process ignore SIGPIPE. If check_credentials refuses the endpoint, every call returns that
// error.
class HttpClient {
  public:
    explicit HttpClient(HttpEndpoint endpoint);
    ~HttpClient();

    [[nodiscard]] const HttpEndpoint& endpoint() const;

    // unavailable if there is no complete answer within `deadline`, or before `stop`; the error of
    // the credential source if there are no credentials.
    Result<HttpResponse> send(const HttpRequest& request, std::chrono::milliseconds deadline,
                              const std::stop_token& stop = {});

    // GETs `path` and passes the body to `on_data` as it arrives. Stops at the end of the body,
    // when `on_data` returns false, after `idle` without a byte, or on `stop`. Returns the status,
    // or 0 if `stop` came first. The body of a status other than 200 is returned as text and not
    // passed to `on_data`.
    Result<HttpResponse> stream(const std::string& path,
                                const std::function<bool(std::string_view)>& on_data,
                                std::chrono::seconds idle, const std::stop_token& stop);

    // A new connection to the server, for another protocol (http_connection.hpp). Errors as send().
    Result<std::unique_ptr<HttpConnection>> connect(std::chrono::milliseconds deadline);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// The files of a server that uses TLS (1.2 or newer); each is PEM. They are read again every few
// seconds: new connections use the new files, and open connections are closed after their next
// answer. A file that cannot be used is logged, and the last good files stay in use.
struct HttpTlsFiles {
    std::string certificate;  // the server's, with its chain; empty: plain HTTP
    std::string key;
    std::string client_ca;  // authorities of client certificates; empty: no client is asked for one
};

// The certificate of a server, with its chain, its key, and the authorities of client certificates;
// all in PEM.
struct HttpTlsPems {
    std::string certificate;
    std::string key;
    std::string client_ca{};  // empty: no client is asked for a certificate
};

// Errors: invalid_argument, or the reason why a file cannot be read; both name the file.
Result<> check_tls_files(const HttpTlsFiles& files);

struct HttpServerOptions {
    std::string address = "127.0.0.1";
    int port = 0;     // 0: any free one
    int threads = 8;  // requests that are answered at the same time; an idle connection uses none
    std::size_t most_connections = 512;
    std::chrono::seconds idle{120};  // until a connection without a request is closed
    // Time limit for a request from its first byte to its last, and again for the answer.
    std::chrono::milliseconds exchange{10'000};
    std::size_t max_body_bytes = std::size_t{96} << 20;
    // Limit for bodies above large_body_bytes, or of unknown size, that are read at the same time;
    // a further one is answered 503. With max_body_bytes this bounds the memory that
    // unauthenticated clients can use.
    std::size_t large_body_bytes = std::size_t{4} << 20;
    int large_bodies_at_once = 2;
    // With a client_ca, clients without a certificate count as unauthenticated. Together they get
    // half of the threads; a further one is answered 503. One of their connections is closed when
    // there are too many.
    HttpTlsFiles tls;
    // In place of files. Called by one thread at a time: when the server begins to listen, and
    // every tls_refresh. Clients without a certificate then get all of the threads, too, and those
    // with one that client_ca has not signed count as they do.
    std::function<Result<HttpTlsPems>()> tls_source;
    std::chrono::milliseconds tls_refresh{5'000};
};

// What a server knows of a request before it reads the body.
struct HttpHead {
    std::string method;
    std::string path;  // without the query
    // With TLS: the client has a certificate that is valid now and that client_ca has signed.
    bool has_certificate = false;
    std::string bearer_token;
    std::string certificate_name{};  // its common name; empty: it has no certificate, or no name
};

class HttpServer {
  public:
    using Handler = std::function<HttpResponse(HttpRequest&)>;
    // Returns nothing to accept a request, or the answer that refuses it; then the body is not
    // read.
    using Gate = std::function<std::optional<HttpResponse>(const HttpHead&)>;

    // Many threads call both at the same time. Without a gate every request is accepted.
    HttpServer(HttpServerOptions options, Handler handler, Gate gate = {});
    ~HttpServer();

    // Binds the port and returns it. Errors: unavailable with the reason if the port is in use;
    // those of check_tls_files.
    Result<int> listen();
    // Serves until `stop`; then it finishes the answers in progress and closes idle connections.
    // Call it once.
    void serve(const std::stop_token& stop);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
