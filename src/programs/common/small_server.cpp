#include "programs/common/small_server.hpp"

#include <memory>
#include <utility>

namespace tessera {

Result<std::jthread> serve_beside(const SmallServer& server, HttpServer::Handler handler,
                                  const std::stop_token& stop) {
    auto http =
        std::make_shared<HttpServer>(HttpServerOptions{.address = server.address,
                                                       .port = static_cast<int>(server.port),
                                                       .threads = server.threads,
                                                       .most_connections = server.most_connections,
                                                       .idle = std::chrono::seconds(10),
                                                       .max_body_bytes = 1024},
                                     std::move(handler));
    TRY_VOID(http->listen());
    return std::jthread([http, stop] { http->serve(stop); });
}

HttpResponse not_found() {
    return {.status = 404, .body = "404 page not found\n", .content_type = "text/plain"};
}

}  // namespace tessera
