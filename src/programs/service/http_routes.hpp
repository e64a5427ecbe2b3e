// The routes of a daemon on the HTTP server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/common/route_answer.hpp"

namespace tessera {

HttpResponse to_http(RouteAnswer answer);

// Access control: returns nothing to accept a request, or the answer that refuses it.
using RefuseRequest = std::function<std::optional<RouteAnswer>(const RequestHead&)>;
HttpServer::Gate gate_of(RefuseRequest refuse);

// HttpServer::listen, retried for some seconds: a replica that is ending on this host may still
// have the port, and kubelet restarts a failed container only much later. Error as listen's, also
// when `stop` is requested.
Result<int> listen_soon(HttpServer& server, const std::stop_token& stop);

struct HealthPort {
    std::string address;
    std::int64_t port = 0;  // 0: none
};

// Serves /healthz and /readyz on their own port and threads, without TLS because nothing there is
// secret. Kubelet restarts a program when /healthz does not answer; requests that wait for another
// program must not cause that. Serves until `stop`; the caller owns the thread. The error names the
// row `health_port`.
Result<std::jthread> serve_health(const HealthPort& health, const HttpServer::Handler& answer,
                                  const std::stop_token& stop);

}  // namespace tessera
