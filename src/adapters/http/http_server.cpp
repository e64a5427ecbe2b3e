#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "adapters/http/http.hpp"

namespace tessera {

class HttpServer::Impl {
  public:
    Impl(HttpServerOptions options, Handler handler)
        : options_(std::move(options)), handler_(std::move(handler)) {
        server_.new_task_queue = [threads = options_.threads] {
            return new httplib::ThreadPool(static_cast<std::size_t>(threads));
        };
        // kube-scheduler keeps its connections; the library's default closes them after 5 requests.
        server_.set_keep_alive_max_count(1'000'000);
        server_.set_keep_alive_timeout(120);
        server_.set_read_timeout(std::chrono::seconds(10));
        server_.set_write_timeout(std::chrono::seconds(10));
        server_.set_tcp_nodelay(true);
        server_.set_payload_max_length(options_.max_body_bytes);
        const httplib::Server::Handler answer = [this](const httplib::Request& in,
                                                       httplib::Response& out) {
            respond({in.method, in.path, in.body, {}}, out);
        };
        for (const auto add : {&httplib::Server::Get, &httplib::Server::Options}) {
            (server_.*add)(".*", answer);
        }
        // These have bodies, which are read straight into our string: the library's own way keeps a
        // second copy of what may be 70 MiB.
        const httplib::Server::HandlerWithContentReader with_body =
            [this](const httplib::Request& in, httplib::Response& out,
                   const httplib::ContentReader& read) {
                const std::optional<Turn> turn = take_turn(in);
                if (!turn) {
                    // Read and dropped: the next request of this connection comes after it.
                    if (!read([](const char*, std::size_t) { return true; })) return;
                    out.status = 503;
                    out.set_header("Retry-After", "1");
                    return;
                }
                HttpRequest request{in.method, in.path, {}, {}};
                request.body.reserve(announced_size(in));
                const bool whole = read([&](const char* data, std::size_t size) {
                    request.body.append(data, size);
                    return true;
                });
                if (whole) respond(std::move(request), out);
            };
        server_.Post(".*", with_body);
        server_.Put(".*", with_body);
        server_.Patch(".*", with_body);
        server_.Delete(".*", with_body);
    }

    Result<int> listen() {
        const int port = options_.port == 0 ? server_.bind_to_any_port(options_.address)
                         : server_.bind_to_port(options_.address, options_.port) ? options_.port
                                                                                 : -1;
        if (port > 0) return port;
        return fail(Code::unavailable, "cannot listen on " + options_.address + ":" +
                                           std::to_string(options_.port) +
                                           ": is another instance using the port?");
    }

    void serve(const std::stop_token& stop) {
        const std::stop_callback on_stop(stop, [this] { server_.stop(); });
        if (!stop.stop_requested()) server_.listen_after_bind();
    }

  private:
    // Held while a body is in memory.
    using Turn = std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)>;

    // Empty when as many large bodies as may be are here already.
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

    // With room for the padding that a JSON parser wants.
    [[nodiscard]] std::size_t announced_size(const httplib::Request& in) const {
        constexpr std::size_t kPadding = 64;
        const auto size = in.get_header_value<std::uint64_t>("Content-Length");
        return std::min<std::uint64_t>(size, options_.max_body_bytes) + kPadding;
    }

    void respond(HttpRequest request, httplib::Response& out) const {
        HttpResponse response = handler_(request);
        out.status = response.status;
        if (!response.location.empty()) out.set_header("Location", response.location);
        if (!response.allow.empty()) out.set_header("Allow", response.allow);
        out.set_header("Content-Type", response.content_type);
        out.body = std::move(response.body);
    }

    HttpServerOptions options_;
    Handler handler_;
    std::atomic<int> large_bodies_ = 0;
    httplib::Server server_;
};

HttpServer::HttpServer(HttpServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
HttpServer::~HttpServer() = default;

Result<int> HttpServer::listen() {
    return impl_->listen();
}
void HttpServer::serve(const std::stop_token& stop) {
    impl_->serve(stop);
}

}  // namespace tessera
