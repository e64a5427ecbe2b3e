#include "programs/common/small_server.hpp"

#include <memory>
#include <utility>

namespace tessera {
namespace {

HttpServerOptions options_of(const SmallServer& server) {
    return {.address = server.address,
            .port = static_cast<int>(server.port),
            .threads = server.threads,
            .most_connections = server.most_connections,
            .idle = std::chrono::seconds(10),
            .max_body_bytes = 1024};
}

// A token that is stopped when either of two is.
class EitherStop {
  public:
    EitherStop(const std::stop_token& one, const std::stop_token& other)
        : one_(one, Forward{source_}), other_(other, Forward{source_}) {}

    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

  private:
    struct Forward {
        std::stop_source source;
        void operator()() { source.request_stop(); }
    };

    std::stop_source source_;
    std::stop_callback<Forward> one_;
    std::stop_callback<Forward> other_;
};

}  // namespace

Result<std::jthread> serve_beside(const SmallServer& server, HttpServer::Handler handler,
                                  const std::stop_token& stop) {
    auto http = std::make_shared<HttpServer>(options_of(server), std::move(handler));
    TRY_VOID(http->listen());
    return std::jthread([http, stop](const std::stop_token& own) {
        const EitherStop ends(own, stop);
        http->serve(ends.token());
    });
}

std::jthread serve_when_free(const SmallServer& server, HttpServer::Handler handler, Clock& clock,
                             std::function<void(const Result<>&)> tell,
                             const std::stop_token& stop) {
    return std::jthread([server, handler = std::move(handler), &clock, tell = std::move(tell),
                         stop](const std::stop_token& own) {
        const EitherStop ends(own, stop);
        bool is_reported = false;
        while (!ends.token().stop_requested()) {
            HttpServer http(options_of(server), handler);
            const auto listens = http.listen();
            if (listens) {
                if (is_reported) tell({});
                return http.serve(ends.token());
            }
            if (!is_reported) tell(fail(listens.error()));
            is_reported = true;
            clock.sleep_for(kListenAgain, ends.token());
        }
    });
}

HttpResponse not_found() {
    return {.status = 404, .body = "404 page not found\n", .content_type = "text/plain"};
}

}  // namespace tessera
