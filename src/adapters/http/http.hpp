// HTTP messages, a client and a server: what the tree sees of cpp-httplib, whose parser they share.
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
    std::string path;  // with the query, on the client's side
    std::string body;
    std::string content_type;  // empty: none
};

struct HttpResponse {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::string location;      // of a redirect
    std::string allow;         // of a 405
    std::string authenticate;  // of a 401: how
};

// Where a server is and how to be believed there. PEM texts, not file names.
struct HttpEndpoint {
    std::string host;
    int port = 443;
    bool tls = true;
    bool verify = true;           // false only where the user's kubeconfig says so
    std::string path_prefix;      // of every request, as of a proxy; empty or "/..."
    std::string tls_server_name;  // whom its certificate must name; empty: `host`
    std::string ca_pem;           // empty: the machine's own authorities
    std::string client_cert_pem;  // both or none; the chain behind it, where there is one
    std::string client_key_pem;
    std::function<std::string()> bearer_token;  // called for each request; may be empty
};

// invalid_argument, naming the PEM text of the endpoint that cannot be used.
Result<> check_credentials(const HttpEndpoint& endpoint);

// A client of one server. Keeps idle connections; any thread may call it. From the first one on the
// process ignores SIGPIPE. What check_credentials refuses, every call answers.
class HttpClient {
  public:
    explicit HttpClient(HttpEndpoint endpoint);
    ~HttpClient();

    // unavailable when there is no whole answer within `deadline`, or before `stop`. Looking up the
    // host's name is not stopped by either.
    Result<HttpResponse> send(const HttpRequest& request, std::chrono::milliseconds deadline,
                              const std::stop_token& stop = {});

    // GETs `path` and hands over the body as it arrives, until it ends, `on_data` returns false,
    // `idle` passes without a byte, or `stop`. Returns the status, 0 where `stop` came before it; a
    // body with a status other than 200 is returned as text instead of being handed over.
    Result<HttpResponse> stream(const std::string& path,
                                const std::function<bool(std::string_view)>& on_data,
                                std::chrono::seconds idle, const std::stop_token& stop);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// The files of a server that speaks TLS (1.2 or newer); each is PEM. They are read again every few
// seconds: new connections get what is in them, and those that are there end with their next
// answer. What cannot be used is logged, and the files' last good state stays in force.
struct HttpTlsFiles {
    std::string certificate;  // the server's, and the chain behind it; empty: plain HTTP
    std::string key;
    std::string client_ca;  // who vouches for clients; empty: none is asked for a certificate
};

// invalid_argument or the reason why a file cannot be read; both name the file.
Result<> check_tls_files(const HttpTlsFiles& files);

struct HttpServerOptions {
    std::string address = "127.0.0.1";
    int port = 0;     // 0: any free one
    int threads = 8;  // requests that are answered at once; an idle connection takes none
    std::size_t most_connections = 512;
    std::chrono::seconds idle{120};  // until a connection that asks nothing is closed
    // For a request from its first byte to its last, and again for the answer.
    std::chrono::milliseconds exchange{10'000};
    std::size_t max_body_bytes = std::size_t{96} << 20;
    // Bodies above large_body_bytes, or of unknown size, that are taken at once: a further one is
    // answered 503. With max_body_bytes this bounds the memory that strangers can make us use.
    std::size_t large_body_bytes = std::size_t{4} << 20;
    int large_bodies_at_once = 2;
    // With a client_ca, who has shown no certificate is a stranger: all of them together get half
    // of the threads, and one of them goes where a connection too many comes.
    HttpTlsFiles tls;
    std::chrono::milliseconds tls_refresh{5'000};
};

// What a server knows of a request before it reads the body.
struct HttpHead {
    std::string method;
    std::string path;  // without the query
    // With TLS: the client has shown a certificate that is good now and that client_ca vouches for.
    bool has_certificate = false;
    std::string bearer_token;
};

class HttpServer {
  public:
    using Handler = std::function<HttpResponse(HttpRequest&)>;
    // Whom it does not let in gets its answer, and the body is not read.
    using Gate = std::function<std::optional<HttpResponse>(const HttpHead&)>;

    // Both are called by many threads at once. Without a gate everybody is let in.
    HttpServer(HttpServerOptions options, Handler handler, Gate gate = {});
    ~HttpServer();

    // Binds the port: unavailable with the reason when it is taken; as check_tls_files. Returns the
    // port.
    Result<int> listen();
    // Serves until `stop`; answers that are under way are finished, idle connections closed. Once.
    void serve(const std::stop_token& stop);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
