// HTTP messages, a client and a server: what the tree sees of cpp-httplib, whose parser they share.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
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
    std::string location;  // of a redirect
    std::string allow;     // of a 405
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
};

class HttpServer {
  public:
    using Handler = std::function<HttpResponse(HttpRequest&)>;

    // `handler` is called by many threads at once.
    HttpServer(HttpServerOptions options, Handler handler);
    ~HttpServer();

    // Binds the port: unavailable with the reason when it is taken. Returns the port.
    Result<int> listen();
    // Serves until `stop`; answers that are under way are finished, idle connections closed. Once.
    void serve(const std::stop_token& stop);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
