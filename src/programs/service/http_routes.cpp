#include "programs/service/http_routes.hpp"

#include <chrono>
#include <utility>

#include "adapters/os/pause.hpp"
#include "programs/common/small_server.hpp"

namespace tessera {

HttpResponse to_http(RouteAnswer answer) {
    return {.status = answer.status,
            .body = std::move(answer.body),
            .content_type = std::move(answer.content_type),
            .location = std::move(answer.location),
            .allow = std::move(answer.allow),
            .authenticate = std::move(answer.authenticate),
            .retry_after_s = answer.retry_after_s};
}

HttpServer::Gate gate_of(RefuseRequest refuse) {
    return [refuse = std::move(refuse)](const HttpHead& head) -> std::optional<HttpResponse> {
        auto refusal = refuse({head.method, head.path, head.has_certificate, head.bearer_token,
                               head.certificate_name});
        if (!refusal) return std::nullopt;
        return to_http(*std::move(refusal));
    };
}

Result<int> listen_soon(HttpServer& server, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPause{200};
    constexpr int kTries = 50;
    for (int i = 1; i < kTries && !stop.stop_requested(); ++i) {
        if (auto port = server.listen()) return port;
        pause_for(kPause, stop);
    }
    return server.listen();
}

Result<std::jthread> serve_health(const HealthPort& health, const HttpServer::Handler& answer,
                                  const std::stop_token& stop) {
    if (health.port == 0) return std::jthread();
    const HttpServer::Handler only_health = [answer](HttpRequest& request) {
        const bool is_health = request.path == "/healthz" || request.path == "/readyz";
        return is_health && request.method == "GET" ? answer(request) : not_found();
    };
    auto served = serve_beside(
        {.address = health.address, .port = health.port, .threads = 2, .most_connections = 64},
        only_health, stop);
    if (!served) return fail(served.error().in("health_port"));
    return served;
}

}  // namespace tessera
