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

}  // namespace

Result<std::jthread> serve_beside(const SmallServer& server, HttpServer::Handler handler,
                                  const std::stop_token& stop) {
    auto http = std::make_shared<HttpServer>(options_of(server), std::move(handler));
    TRY_VOID(http->listen());
    return std::jthread([http, stop] { http->serve(stop); });
}

std::jthread serve_when_free(const SmallServer& server, HttpServer::Handler handler, Clock& clock,
                             std::function<void(const Result<>&)> tell,
                             const std::stop_token& stop) {
    return std::jthread(
        [server, handler = std::move(handler), &clock, tell = std::move(tell), stop] {
            bool is_reported = false;
            while (!stop.stop_requested()) {
                HttpServer http(options_of(server), handler);
                const auto listens = http.listen();
                if (listens) {
                    if (is_reported) tell({});
                    return http.serve(stop);
                }
                if (!is_reported) tell(fail(listens.error()));
                is_reported = true;
                clock.sleep_for(kListenAgain, stop);
            }
        });
}

HttpResponse not_found() {
    return {.status = 404, .body = "404 page not found\n", .content_type = "text/plain"};
}

}  // namespace tessera
