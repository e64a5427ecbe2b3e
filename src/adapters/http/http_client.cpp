#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "adapters/http/http.hpp"
#include "adapters/http/socket_stream.hpp"
#include "adapters/http/tls.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnect{10'000};  // of a stream, whose end nobody knows

std::string authority(const HttpEndpoint& endpoint) {
    const bool v6 = endpoint.host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint.host, v6 ? "]" : "", endpoint.port);
}

std::string origin(const HttpEndpoint& endpoint) {
    return (endpoint.tls ? "https://" : "http://") + authority(endpoint);
}

// The library's writer of requests and parser of answers, without its connections: theirs have no
// deadline for a whole answer, and cannot be stopped while they come to be.
class Parser : public httplib::ClientImpl {
  public:
    using ClientImpl::ClientImpl;
    // False where the library throws, too: it reads what comes with regular expressions.
    bool exchange(SocketStream& stream, httplib::Request& request, httplib::Response& response,
                  httplib::Error& error) {
        try {
            return process_request(stream, request, response, false, error);
        } catch (const std::exception&) {
            error = httplib::Error::Read;
            return false;
        }
    }
};

class Connection {
  public:
    explicit Connection(int fd) : fd_(fd), stream_(std::make_unique<SocketStream>(fd)) {}
    ~Connection() {
        stream_.reset();
        ::close(fd_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] SocketStream& stream() const { return *stream_; }

    // An idle connection has nothing to read. Where there is something, it is the server's goodbye:
    // a request written to it would be lost.
    [[nodiscard]] bool is_usable() const {
        pollfd entry{fd_, POLLIN, 0};
        return !stream_->has_more() && ::poll(&entry, 1, 0) == 0;
    }

  private:
    const int fd_;
    std::unique_ptr<SocketStream> stream_;
};
using ConnectionPtr = std::unique_ptr<Connection>;

struct AddressesDeleter {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

Result<Addresses> look_up(const HttpEndpoint& endpoint) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error =
        ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
    if (error != 0) return fail(Code::unavailable, ::gai_strerror(error));
    return Addresses(list);
}

Result<ConnectionPtr> connect_to(const addrinfo& address, const SocketStream::Limits& limits) {
    const int type = address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int fd = ::socket(address.ai_family, type, address.ai_protocol);
    if (fd < 0) return fail(Code::unavailable, std::strerror(errno));
    auto connection = std::make_unique<Connection>(fd);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
        return fail(Code::unavailable, std::strerror(errno));
    }
    connection->stream().start(limits);
    TRY_VOID(connection->stream().finish_connect());
    return connection;
}

milliseconds left_until(SteadyTime end) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    return std::max(left, milliseconds(0));
}

bool is_read_only(const std::string& method) {
    return method == "GET" || method == "HEAD";
}

}  // namespace

class HttpClient::Impl {
  public:
    explicit Impl(HttpEndpoint endpoint)
        : endpoint_(std::move(endpoint)),
          context_(tls_context(endpoint_)),
          parser_(endpoint_.host, endpoint_.port) {}

    Result<HttpResponse> send(const HttpRequest& request, milliseconds deadline,
                              const std::stop_token& stop) {
        if (!context_) return fail(context_.error());
        WakeUp wake;
        const std::stop_callback on_stop(stop, [&wake] { wake.signal(); });
        const SteadyTime end = std::chrono::steady_clock::now() + deadline;
        if (ConnectionPtr idle = take_idle()) {
            auto attempt = try_once(std::move(idle), request, end, wake);
            if (!attempt.may_be_repeated) return std::move(attempt.answer);
        }
        auto connection = open({.whole = left_until(end), .wake = &wake});
        if (!connection) return fail(connection.error());
        return try_once(*std::move(connection), request, end, wake).answer;
    }

    Result<HttpResponse> stream(const std::string& path,
                                const std::function<bool(std::string_view)>& on_data,
                                std::chrono::seconds idle, const std::stop_token& stop) {
        if (!context_) return fail(context_.error());
        WakeUp wake;
        const std::stop_callback on_stop(stop, [&wake] { wake.signal(); });
        HttpResponse result{.status = 0};
        const auto connection = open({.whole = kConnect, .wake = &wake});
        if (!connection) return stop.stop_requested() ? result : fail_as(connection.error());
        httplib::Request out = message({.method = "GET", .path = path});
        out.response_handler = [&](const httplib::Response& response) {
            result.status = response.status;
            return true;
        };
        out.content_receiver = [&](const char* data, std::size_t size, std::uint64_t,
                                   std::uint64_t) {
            if (stop.stop_requested()) return false;
            if (result.status == 200) return on_data({data, size});
            result.body.append(data, size);
            return true;
        };
        SocketStream& line = (*connection)->stream();
        line.start({.whole = idle, .idle = idle, .wake = &wake});
        httplib::Response in;
        httplib::Error error = httplib::Error::Success;
        // An end that was asked for (Canceled) is not an error.
        if (parser_.exchange(line, out, in, error) || error == httplib::Error::Canceled ||
            stop.stop_requested()) {
            return result;
        }
        return no_answer(line.fault());
    }

  private:
    struct Attempt {
        Result<HttpResponse> answer;
        bool may_be_repeated = false;
    };

    static Result<HttpResponse> fail_as(const Error& error) { return fail(error); }

    [[nodiscard]] tl::unexpected<Error> no_answer(std::string_view reason) const {
        return fail(Code::unavailable,
                    fmt::format("{} does not answer: {}", origin(endpoint_), reason));
    }

    [[nodiscard]] httplib::Request message(const HttpRequest& request) const {
        httplib::Request out;
        out.method = request.method;
        out.path = endpoint_.path_prefix + request.path;
        out.body = request.body;
        out.headers.emplace("Host", authority(endpoint_));
        out.headers.emplace("Accept", "application/json");
        out.headers.emplace("User-Agent", "tessera/" TESSERA_VERSION);
        if (!request.content_type.empty())
            out.headers.emplace("Content-Type", request.content_type);
        if (endpoint_.bearer_token) {
            const std::string token = endpoint_.bearer_token();
            if (!token.empty()) out.headers.emplace("Authorization", "Bearer " + token);
        }
        return out;
    }

    // Tries the host's addresses one after another, each with its part of the time.
    Result<ConnectionPtr> open(const SocketStream::Limits& limits) {
        const SteadyTime end = std::chrono::steady_clock::now() + limits.whole;
        const auto addresses = look_up(endpoint_);
        if (!addresses) return no_answer(addresses.error().text);
        int untried = 0;
        for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next)
            ++untried;
        std::string fault = "its name has no address";
        for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
            SocketStream::Limits part = limits;
            part.whole = left_until(end) / untried--;
            auto connection = connect_to(*at, part);
            if (!connection) {
                fault = connection.error().text;
                continue;
            }
            if (*context_ == nullptr) return connection;
            part.whole = left_until(end);
            (*connection)->stream().start(part);
            const auto secured =
                (*connection)->stream().start_tls(tls_session(context_->get(), endpoint_));
            if (secured) return connection;
            return no_answer(secured.error().text);
        }
        return no_answer(fault);
    }

    Attempt try_once(ConnectionPtr connection, const HttpRequest& request, SteadyTime end,
                     const WakeUp& wake) {
        httplib::Request out = message(request);
        httplib::Response in;
        httplib::Error error = httplib::Error::Success;
        SocketStream& line = connection->stream();
        line.start({.whole = left_until(end), .wake = &wake});
        if (!parser_.exchange(line, out, in, error)) {
            // A server that closed the connection meanwhile has not read the whole request where
            // writing failed, and has not answered where it said nothing.
            const bool closed =
                line.write_failed() ||
                (is_read_only(request.method) && !line.heard() && left_until(end).count() > 0);
            return {no_answer(line.fault()), closed};
        }
        const bool ends = in.get_header_value("Connection") == "close" ||
                          in.version == "HTTP/1.0" ||
                          (!in.has_header("Content-Length") &&
                           !in.has_header("Transfer-Encoding") && in.status != 204);
        if (!ends) give_back(std::move(connection));
        return {HttpResponse{.status = in.status, .body = std::move(in.body)}};
    }

    // Null when none is good any more.
    ConnectionPtr take_idle() {
        std::vector<ConnectionPtr> dead;  // closed without the lock
        const std::scoped_lock lock(mutex_);
        while (!idle_.empty()) {
            ConnectionPtr connection = std::move(idle_.back());
            idle_.pop_back();
            if (connection->is_usable()) return connection;
            dead.push_back(std::move(connection));
        }
        return nullptr;
    }

    void give_back(ConnectionPtr connection) {
        const std::scoped_lock lock(mutex_);
        if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
    }

    static constexpr std::size_t kMaxIdle = 128;

    const HttpEndpoint endpoint_;
    const Result<SslContext> context_;
    Parser parser_;  // has no state of its own once it is made
    std::mutex mutex_;
    std::vector<ConnectionPtr> idle_;  // guarded by mutex_
};

HttpClient::HttpClient(HttpEndpoint endpoint)
    : impl_(std::make_unique<Impl>(std::move(endpoint))) {}
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request, milliseconds deadline,
                                      const std::stop_token& stop) {
    return impl_->send(request, deadline, stop);
}

Result<HttpResponse> HttpClient::stream(const std::string& path,
                                        const std::function<bool(std::string_view)>& on_data,
                                        std::chrono::seconds idle, const std::stop_token& stop) {
    return impl_->stream(path, on_data, idle, stop);
}

}  // namespace tessera
