#include <fcntl.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "adapters/http/http.hpp"
#include "adapters/http/server_loop.hpp"
#include "adapters/http/server_tls.hpp"
#include "adapters/http/socket_stream.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

// The time for the rest of a request that is partly read when the server stops.
constexpr milliseconds kGrace{1'000};
// The time for a peer to read the answer to a request that was not read.
constexpr milliseconds kFarewell{500};
constexpr int kNextQuestion = 5;  // milliseconds
constexpr int kBacklog = 512;

// The request that this thread answers. The library's handlers can neither access nor close the
// connection, and the library itself answers requests that it could not read.
struct Exchange {
    bool read_whole = false;  // so that the next request follows
    bool is_last = false;
    bool has_certificate = false;
};
thread_local Exchange exchange_now;

bool has_no_length(const httplib::Request& request) {
    const bool has_body =
        request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    return has_body && !request.has_header("Content-Length") &&
           ::strcasecmp(request.get_header_value("Transfer-Encoding").c_str(), "chunked") != 0;
}

// The library reads no body for methods that need none. The bytes of one would be read as the next
// request of the connection, which no proxy between the client and us has seen as a request
// (request smuggling).
bool has_body(const httplib::Request& request) {
    return request.has_header("Transfer-Encoding") ||
           request.get_header_value<std::uint64_t>("Content-Length") > 0;
}

// Why a body is refused, as a status: its size is given twice, or is that of compressed data.
std::optional<int> fault_of_body(const httplib::Request& request) {
    if (has_no_length(request)) return 411;
    if (request.has_header("Content-Encoding")) return 415;
    if (request.has_header("Transfer-Encoding") && request.has_header("Content-Length")) return 400;
    return std::nullopt;
}

// Closing a socket with unread bytes resets it, and the peer may lose the answer.
void drain(int fd) {
    ::shutdown(fd, SHUT_WR);
    const auto end = std::chrono::steady_clock::now() + kFarewell;
    std::array<char, 4096> rest{};
    pollfd entry{fd, POLLIN, 0};
    while (std::chrono::steady_clock::now() < end) {
        if (::poll(&entry, 1, static_cast<int>(kFarewell.count())) <= 0) return;
        if (::recv(fd, rest.data(), rest.size(), 0) <= 0) return;
    }
}

std::string bearer_token(const httplib::Request& in) {
    constexpr std::string_view kScheme = "Bearer ";
    const std::string value = in.get_header_value("Authorization");
    const bool bears = ::strncasecmp(value.c_str(), kScheme.data(), kScheme.size()) == 0;
    return bears ? value.substr(kScheme.size()) : std::string();
}

// kube-scheduler sends its next request as soon as it has read the answer. The same thread should
// answer it, because it has the memory of the last one; otherwise every thread would keep as much
// memory.
bool more_comes(int fd) {
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, kNextQuestion) > 0;
}

// The library's parser and routes, without its threads: each of those waits on one idle connection
// until it is closed.
class Parser : public httplib::Server {
  public:
    Parser() {
        set_socket_options([](socket_t fd) {
            // The library's default lets a second instance take half of the connections.
            const int on = 1;
            ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        });
        set_post_routing_handler([](const httplib::Request&, httplib::Response& out) {
            if (exchange_now.read_whole && !exchange_now.is_last) return;
            out.headers.erase("Keep-Alive");
            out.headers.erase("Connection");
            out.set_header("Connection", "close");
        });
    }

    // The bound socket; the caller owns it now.
    int take_socket() {
        const int fd = svr_sock_.exchange(INVALID_SOCKET);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        ::listen(fd, kBacklog);
        return fd;
    }

    // One request and its answer. Returns whether another may follow on the connection. False if
    // the library throws outside of the handlers, whose exceptions it catches.
    bool exchange(SocketStream& stream, int fd, bool last) {
        try {
            return exchange_once(stream, fd, last);
        } catch (const std::exception&) {
            return false;
        }
    }

  private:
    bool exchange_once(SocketStream& stream, int fd, bool last) {
        exchange_now.read_whole = false;
        exchange_now.is_last = last;
        bool closed = last;
        const bool answered = process_request(stream, last, closed, [](httplib::Request& request) {
            // Over loopback compressing takes longer than sending. Bodies are JSON, whatever their
            // type says.
            request.headers.erase("Accept-Encoding");
            request.headers.erase("Content-Type");
        });
        if (!stream.flush() || !answered) return false;
        if (!exchange_now.read_whole) drain(fd);
        return exchange_now.read_whole && !closed;
    }
};

}  // namespace

class HttpServer::Impl {
  public:
    Impl(HttpServerOptions options, Handler handler, Gate gate)
        : options_(std::move(options)), handler_(std::move(handler)), gate_(std::move(gate)) {
        parser_.set_keep_alive_max_count(
            1'000'000);  // the value of the header Keep-Alive; not enforced
        parser_.set_keep_alive_timeout(options_.idle.count());
        parser_.set_payload_max_length(options_.max_body_bytes);
        const httplib::Server::Handler answer = [this](const httplib::Request& in,
                                                       httplib::Response& out) {
            exchange_now.read_whole = !has_body(in);
            if (lets_in(in, out)) respond({in.method, in.path, in.body, {}}, out);
        };
        for (const auto add : {&httplib::Server::Get, &httplib::Server::Options}) {
            (parser_.*add)(".*", answer);
        }
        // The bodies of these methods are read directly into our string. The library's own way
        // keeps a second copy of up to 70 MiB.
        const httplib::Server::HandlerWithContentReader with_body =
            [this](const httplib::Request& in, httplib::Response& out,
                   const httplib::ContentReader& read) { read_and_respond(in, out, read); };
        parser_.Post(".*", with_body);
        parser_.Put(".*", with_body);
        parser_.Patch(".*", with_body);
        parser_.Delete(".*", with_body);
    }

    Result<int> listen() {
        if (!options_.tls.certificate.empty()) {
            TRY(tls_, ServerTls::open(options_.tls));
        }
        const int port = options_.port == 0 ? parser_.bind_to_any_port(options_.address)
                         : parser_.bind_to_port(options_.address, options_.port) ? options_.port
                                                                                 : -1;
        if (port > 0) {
            loop_ = std::make_unique<ServerLoop>(
                parser_.take_socket(), loop_options(),
                [this](ServedConnection& connection) { return serve_one(connection); });
            return port;
        }
        return fail(Code::unavailable, "cannot listen on " + options_.address + ":" +
                                           std::to_string(options_.port) +
                                           ": is another instance using the port?");
    }

    void serve(const std::stop_token& stop) {
        stop_ = stop;
        loop_->run(stop);
    }

  private:
    // Held while a body is in memory.
    using Turn = std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)>;

    [[nodiscard]] bool knows_clients() const { return !options_.tls.client_ca.empty(); }

    [[nodiscard]] ServerLoop::Options loop_options() {
        ServerLoop::Options out{.threads = options_.threads,
                                .most_connections = options_.most_connections,
                                .first_byte = options_.idle};
        if (tls_ == nullptr) return out;
        out.first_byte = options_.exchange;  // and for the whole handshake
        out.strangers = knows_clients();
        out.sweep = options_.tls_refresh;
        out.on_sweep = [this] { tls_->refresh(); };
        return out;
    }

    // Returns whether more may come.
    bool serve_one(ServedConnection& at) {
        if (tls_ != nullptr && !at.secured) return greet(at);
        at.stranger = knows_clients() && !(at.tls && has_good_certificate(at.tls.get()));
        if (!at.stranger) return converse(at);
        // A client that sends its requests slowly occupies a thread for each. Some threads are
        // reserved for authenticated clients.
        const bool room = strangers_.fetch_add(1) < std::max(1, options_.threads / 2);
        const bool more = room && converse(at);
        --strangers_;
        return more;
    }

    // No thread waits for a handshake.
    bool greet(ServedConnection& at) {
        if (!at.tls) at.tls = tls_->new_session(at.fd);
        const Handshake now = shake_hands(at.tls.get());
        if (now == Handshake::waits) return true;  // closed at its end_by
        if (now == Handshake::failed) {
            tls_->complain_of_client(at.tls.get());
            return false;
        }
        at.secured = true;
        at.stranger = knows_clients() && !has_good_certificate(at.tls.get());
        at.end_by = std::chrono::steady_clock::now() + options_.idle;
        return true;
    }

    // Answers the requests that have arrived. Returns whether more may come.
    bool converse(ServedConnection& at) {
        const SSL* const session = at.tls.get();
        SocketStream stream(at.fd, std::move(at.tls));
        do {
            // Checked again for each request, because a client can send requests without a pause.
            const bool is_old = session != nullptr && !tls_->is_current(session);
            exchange_now.has_certificate = session != nullptr && has_good_certificate(session);
            stream.start({.whole = options_.exchange,
                          .answer = options_.exchange,
                          .grace = kGrace,
                          .wake = &loop_->ending()});
            if (!parser_.exchange(stream, at.fd, is_old || stop_.stop_requested())) return false;
        } while (stream.has_more() || more_comes(at.fd));
        at.tls = stream.take_tls();
        at.end_by = std::chrono::steady_clock::now() + options_.idle;
        return true;
    }

    bool lets_in(const httplib::Request& in, httplib::Response& out) const {
        if (!gate_) return true;
        auto refusal = gate_({in.method, in.path, exchange_now.has_certificate, bearer_token(in)});
        if (!refusal) return true;
        write(*std::move(refusal), out);
        return false;
    }

    // Empty if the allowed number of large bodies is being read.
    std::optional<Turn> take_turn(const httplib::Request& in) {
        const bool small =
            in.has_header("Content-Length") &&
            in.get_header_value<std::uint64_t>("Content-Length") <= options_.large_body_bytes;
        if (small) return Turn(nullptr, [](std::atomic<int>*) {});
        if (large_bodies_.fetch_add(1) >= options_.large_bodies_at_once) {
            --large_bodies_;
            return std::nullopt;
        }
        return Turn(&large_bodies_, [](std::atomic<int>* count) { --*count; });
    }

    // Includes the padding that a JSON parser needs.
    [[nodiscard]] std::size_t announced_size(const httplib::Request& in) const {
        constexpr std::size_t kPadding = 64;
        const auto size = in.get_header_value<std::uint64_t>("Content-Length");
        return std::min<std::uint64_t>(size, options_.max_body_bytes) + kPadding;
    }

    void read_and_respond(const httplib::Request& in, httplib::Response& out,
                          const httplib::ContentReader& read) {
        if (const auto fault = fault_of_body(in)) {
            out.status = *fault;
            return;
        }
        if (!lets_in(in, out)) return;
        const std::optional<Turn> turn = take_turn(in);
        if (!turn) {
            // Reads and drops the body, because the next request of this connection follows it.
            exchange_now.read_whole = read([](const char*, std::size_t) { return true; });
            if (!exchange_now.read_whole) return;
            out.status = 503;
            out.set_header("Retry-After", "1");
            return;
        }
        HttpRequest request{in.method, in.path, {}, {}};
        request.body.reserve(announced_size(in));
        bool fits = true;
        exchange_now.read_whole = read([&](const char* data, std::size_t size) {
            // The library limits the announced size only, not a body in chunks.
            fits = size <= options_.max_body_bytes - request.body.size();
            if (fits) request.body.append(data, size);
            return fits;
        });
        if (!fits) out.status = 413;
        if (exchange_now.read_whole) respond(std::move(request), out);
    }

    void respond(HttpRequest request, httplib::Response& out) const {
        write(handler_(request), out);
    }

    static void write(HttpResponse response, httplib::Response& out) {
        out.status = response.status;
        if (!response.location.empty()) out.set_header("Location", response.location);
        if (!response.allow.empty()) out.set_header("Allow", response.allow);
        if (!response.authenticate.empty()) {
            out.set_header("WWW-Authenticate", response.authenticate);
        }
        out.set_header("Content-Type", response.content_type);
        out.body = std::move(response.body);
    }

    HttpServerOptions options_;
    Handler handler_;
    Gate gate_;
    std::unique_ptr<ServerTls> tls_;  // null: plain HTTP
    std::atomic<int> strangers_ = 0;  // that are being answered
    std::atomic<int> large_bodies_ = 0;
    std::stop_token stop_;
    Parser parser_;
    std::unique_ptr<ServerLoop> loop_;
};

HttpServer::HttpServer(HttpServerOptions options, Handler handler, Gate gate)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler), std::move(gate))) {}
HttpServer::~HttpServer() = default;

Result<int> HttpServer::listen() {
    return impl_->listen();
}
void HttpServer::serve(const std::stop_token& stop) {
    impl_->serve(stop);
}

}  // namespace tessera
