#include <poll.h>
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
#include "adapters/http/listening_socket.hpp"
#include "adapters/http/request_reader.hpp"
#include "adapters/http/response_writer.hpp"
#include "adapters/http/server_loop.hpp"
#include "adapters/http/server_tls.hpp"
#include "adapters/http/socket_stream.hpp"
#include "base/ascii.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

// The time for the rest of a request that is partly read when the server stops.
constexpr milliseconds kGrace{1'000};
// The time for a peer to read the answer to a request that was not read.
constexpr milliseconds kDrainTime{500};
// What is read after the answer to bytes that are no request.
constexpr std::size_t kMostOfNoRequest = std::size_t{1} << 20;
constexpr int kNextRequest = 5;  // milliseconds
constexpr int kMostInARow = 64;  // requests

struct Reply {
    HttpResponse response;
    std::string_view retry_after{};  // seconds; empty: not said
    bool is_last = false;            // it is not known where the next request begins
};

Reply reply_of(int status) {
    return {.response = {.status = status, .body = {}, .content_type = {}}};
}
// Nothing if the peer gets no answer.
std::optional<Reply> reply_of(const ReadFault& fault) {
    return fault.status == 0 ? std::nullopt : std::optional(reply_of(fault.status));
}
Reply last_reply_of(int status) {
    Reply reply = reply_of(status);
    reply.is_last = true;
    return reply;
}

bool is_known(std::string_view method) {
    constexpr std::array<std::string_view, 7> kMethods{"GET", "HEAD",  "OPTIONS", "POST",
                                                       "PUT", "PATCH", "DELETE"};
    return std::ranges::find(kMethods, method) != kMethods.end();
}

// Of methods without a body none is read. Its bytes would be taken for the next request of the
// connection, which no proxy between the client and us has seen as a request (request smuggling).
// So the connection is closed after the answer (RequestReader::is_whole).
bool reads_body(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE";
}

// Why a request is refused, as a status: it is not clear where its body ends (RFC 9112, section 6),
// or the body is compressed.
std::optional<int> fault_of_framing(const RequestReader& in) {
    const bool has_coding = in.has_field("Transfer-Encoding");
    if (has_coding && in.is_http_1_0()) return 400;
    // Together they are one list of codings, of which a proxy may read another one than we do.
    if (in.is_repeated("Transfer-Encoding")) return 400;
    if (!reads_body(in.method())) return std::nullopt;
    const bool has_size = in.has_field("Content-Length");
    const bool is_in_chunks = equals_ignoring_case(in.field("Transfer-Encoding"), "chunked");
    const bool needs_size = has_coding || in.method() != "DELETE";
    if (!has_size && !is_in_chunks && needs_size) return 411;
    if (in.has_field("Content-Encoding")) return 415;
    if (has_size && has_coding) return 400;
    return std::nullopt;
}

// What is at its limit may be free a moment later.
Reply busy_reply() {
    return {.response = reply_of(503).response, .retry_after = "1"};
}

// Closing a socket with unread bytes resets it, and the peer may lose the answer.
void drain(int fd, std::size_t most) {
    ::shutdown(fd, SHUT_WR);
    const auto end = std::chrono::steady_clock::now() + kDrainTime;
    std::array<char, 4096> rest{};
    pollfd entry{fd, POLLIN, 0};
    for (std::size_t read = 0; read < most && std::chrono::steady_clock::now() < end;) {
        if (::poll(&entry, 1, static_cast<int>(kDrainTime.count())) <= 0) return;
        const ssize_t got = ::recv(fd, rest.data(), rest.size(), 0);
        if (got <= 0) return;
        read += static_cast<std::size_t>(got);
    }
}

std::string bearer_token(const RequestReader& in) {
    constexpr std::string_view kScheme = "Bearer ";
    const std::string_view value = in.field("Authorization");
    if (!equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
    return std::string(value.substr(kScheme.size()));
}

// kube-scheduler sends its next request as soon as it has read the answer. The same thread should
// answer it, because it has the memory of the last one; otherwise every thread would keep as much
// memory.
bool more_comes(int fd) {
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, kNextRequest) > 0;
}

}  // namespace

class HttpServer::Impl {
  public:
    Impl(HttpServerOptions options, Handler handler, Gate gate)
        : options_(std::move(options)), handler_(std::move(handler)), gate_(std::move(gate)) {}

    Result<int> listen() {
        if (options_.tls_source) {
            const auto source = [read = options_.tls_source]() -> Result<TlsServerPems> {
                TRY(HttpTlsPems pems, read());
                return TlsServerPems{.certificate = std::move(pems.certificate),
                                     .key = std::move(pems.key),
                                     .client_ca = std::move(pems.client_ca),
                                     .accepts_strangers = true};
            };
            TRY(tls_,
                ServerTls::open(source, {.certificate = "own", .key = "own", .client_ca = "own"}));
        } else if (!options_.tls.certificate.empty()) {
            TRY(tls_, ServerTls::open(source_of_files(options_.tls), options_.tls));
        }
        TRY(const ListeningSocket socket, listen_on(options_.address, options_.port));
        loop_ = std::make_unique<ServerLoop>(
            socket.fd, loop_options(),
            [this](ServedConnection& connection) { return serve_one(connection); });
        return socket.port;
    }

    void serve(const std::stop_token& stop) {
        stop_ = stop;
        loop_->run(stop);
    }

  private:
    // Counts one of a limited number until it is destroyed.
    using Counted = std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)>;
    static void count_down(std::atomic<int>* count) { --*count; }

    struct Client {
        bool has_certificate = false;
        std::string name;
    };
    // `session`: null without TLS.
    static Client client_of(const SSL* session) {
        if (session == nullptr || !has_valid_certificate(session)) return {};
        return {true, certificate_name(session)};
    }

    [[nodiscard]] bool knows_clients() const { return !options_.tls.client_ca.empty(); }

    [[nodiscard]] ServerLoop::Options loop_options() {
        ServerLoop::Options out{.threads = options_.threads,
                                .most_connections = options_.most_connections,
                                .first_byte = options_.idle};
        if (tls_ == nullptr) return out;
        out.first_byte = options_.exchange;  // and for the whole handshake
        out.unauthenticated = knows_clients();
        out.sweep = options_.tls_refresh;
        out.on_sweep = [this] { tls_->refresh(); };
        return out;
    }

    // Returns whether more may come.
    bool serve_one(ServedConnection& at) {
        if (tls_ != nullptr && !at.secured) return continue_handshake(at);
        at.is_unauthenticated = knows_clients() && !(at.tls && has_valid_certificate(at.tls.get()));
        if (!at.is_unauthenticated) return answer_or_close(at);
        // A client that sends its requests slowly occupies a thread for each. Some threads are
        // reserved for authenticated clients.
        const int others = unauthenticated_.fetch_add(1);
        const Counted counted(&unauthenticated_, count_down);
        return others < std::max(1, options_.threads / 2) ? answer_or_close(at) : refuse(at);
    }

    // No thread waits for a handshake.
    bool continue_handshake(ServedConnection& at) {
        if (!at.tls) at.tls = tls_->new_session(at.fd);
        const Handshake now = tessera::continue_handshake(at.tls.get());
        if (now == Handshake::wants_read) return true;  // closed at its end_by
        if (now == Handshake::failed) {
            tls_->log_refused_client(at.tls.get());
            return false;
        }
        at.secured = true;
        at.is_unauthenticated = knows_clients() && !has_valid_certificate(at.tls.get());
        at.end_by = std::chrono::steady_clock::now() + options_.idle;
        return true;
    }

    // Answers 503 to what the client has sent or will send, and closes the connection.
    bool refuse(ServedConnection& at) {
        SocketStream stream(at.fd, std::move(at.tls));
        stream.start({.whole = kDrainTime, .answer = kDrainTime, .grace = {}, .wake = nullptr});
        const Reply reply = busy_reply();
        const ResponseForm form{
            .closes = true, .idle = options_.idle, .retry_after = reply.retry_after};
        if (write_response(stream, reply.response, form) && stream.flush())
            drain(at.fd, kMostOfNoRequest);
        return false;
    }

    // Answers the requests that have arrived. Returns whether more may come. False if memory is
    // short, or a request has more fields than the parser can count.
    bool answer_or_close(ServedConnection& at) {
        try {
            return answer_requests(at);
        } catch (const std::exception&) {
            return false;
        }
    }

    bool answer_requests(ServedConnection& at) {
        const SSL* const session = at.tls.get();
        int answered = 0;
        SocketStream stream(at.fd, std::move(at.tls));
        do {
            // Checked again for each request, because a client can send requests without a pause.
            const bool is_old = session != nullptr && !tls_->is_current(session);
            const Client client = client_of(session);
            stream.start({.whole = options_.exchange,
                          .answer = options_.exchange,
                          .grace = kGrace,
                          .wake = &loop_->ending()});
            const bool is_last = is_old || stop_.stop_requested();
            if (!answer_one(stream, at.fd, client, is_last)) return false;
            // A client that never pauses leaves the thread to others now and then.
        } while (stream.has_more() || (++answered < kMostInARow && more_comes(at.fd)));
        at.tls = stream.release_tls();
        at.end_by = std::chrono::steady_clock::now() + options_.idle;
        return true;
    }

    // One request and its answer. Returns whether another may follow on the connection.
    bool answer_one(SocketStream& stream, int fd, const Client& client, bool is_last) {
        RequestReader in(stream);
        const auto fault = in.read_head();
        const auto reply = fault ? reply_of(*fault) : reply_to(in, stream, client);
        if (!reply) return false;
        const bool is_whole = !fault && !reply->is_last && in.is_whole();
        const bool more = is_whole && in.keeps_alive() && !is_last;
        const ResponseForm form{.is_http_1_0 = !fault && in.is_http_1_0(),
                                .closes = !more,
                                .has_no_body = !fault && in.method() == "HEAD",
                                .idle = options_.idle,
                                .retry_after = reply->retry_after};
        if (!write_response(stream, reply->response, form) || !stream.flush()) return false;
        if (!is_whole) drain(fd, fault ? kMostOfNoRequest : options_.max_body_bytes);
        return more;
    }

    // Nothing if the peer is gone or too slow.
    std::optional<Reply> reply_to(RequestReader& in, SocketStream& stream, const Client& client) {
        HttpRequest request{std::string(in.method()), in.path(), {}, {}, in.query()};
        if (!is_known(request.method)) return last_reply_of(501);
        if (const auto fault = fault_of_framing(in)) return last_reply_of(*fault);
        if (gate_) {
            const HttpHead head{request.method, request.path, client.has_certificate,
                                bearer_token(in), client.name};
            if (auto refusal = gate_(head)) return Reply{*std::move(refusal)};
        }
        const bool has_body = reads_body(request.method) && !in.is_whole();
        return has_body ? read_and_respond(in, stream, std::move(request)) : respond(request);
    }

    // Empty if the allowed number of large bodies is being read.
    std::optional<Counted> take_body_slot(const RequestReader& in) {
        const auto size = in.announced_size();
        if (size && *size <= options_.large_body_bytes) return Counted(nullptr, count_down);
        if (large_bodies_.fetch_add(1) >= options_.large_bodies_at_once) {
            --large_bodies_;
            return std::nullopt;
        }
        return Counted(&large_bodies_, count_down);
    }

    std::optional<Reply> read_and_respond(RequestReader& in, SocketStream& stream,
                                          HttpRequest request) {
        const std::uint64_t announced = in.announced_size().value_or(0);
        if (announced > options_.max_body_bytes) return reply_of(413);
        const bool waits = equals_ignoring_case(in.field("Expect"), "100-continue");
        const std::optional<Counted> slot = take_body_slot(in);
        if (!slot) return drop_body(in, waits);
        if (waits && !stream.write("HTTP/1.1 100 Continue\r\n\r\n")) return std::nullopt;
        constexpr std::size_t kPadding = 64;  // that a JSON parser needs
        request.body.reserve(announced + kPadding);
        bool fits = true;
        const auto fault = in.read_body([&](std::string_view piece) {
            fits = piece.size() <= options_.max_body_bytes - request.body.size();
            if (fits) request.body.append(piece);
            return fits;
        });
        if (fault) return reply_of(*fault);
        if (!fits) return reply_of(413);
        return respond(request);
    }

    // Reads the body, because the next request of this connection follows it. A client that waits
    // to be asked for the body is not asked.
    std::optional<Reply> drop_body(RequestReader& in, bool waits) const {
        std::uint64_t dropped = 0;
        const auto take = [&](std::string_view piece) {
            dropped += piece.size();
            return dropped <= options_.max_body_bytes;
        };
        const auto fault = waits ? std::optional<ReadFault>() : in.read_body(take);
        if (fault) return reply_of(*fault);
        return busy_reply();
    }

    Reply respond(HttpRequest& request) const {
        try {
            return {handler_(request)};
        } catch (const std::exception& error) {
            log_event(
                Event::request_failed,
                {{"method", request.method}, {"path", request.path}, {"reason", error.what()}});
            return reply_of(500);
        }
    }

    HttpServerOptions options_;
    Handler handler_;
    Gate gate_;
    std::unique_ptr<ServerTls> tls_;        // null: plain HTTP
    std::atomic<int> unauthenticated_ = 0;  // that are being answered
    std::atomic<int> large_bodies_ = 0;
    std::stop_token stop_;
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
