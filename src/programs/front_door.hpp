// Where the controller listens, and who can reach it there.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/scheduler/access.hpp"

namespace tessera {

// The rows of the configuration that belong together.
struct FrontDoor {
    std::string listen;
    std::int64_t port = 0;
    std::int64_t health_port = 0;  // 0: none
    HttpTlsFiles tls;
    bool plain_http = false;
    std::string advertise;
};

// Refuses a door that strangers can open: plain HTTP, or TLS without client certificates, beyond
// loopback. The error names the rows and what to do; or as check_tls_files.
Result<> check_front_door(const FrontDoor& door);

// Where others reach this replica: `advertise`, or else what it listens on. The error names the
// row.
Result<std::string> read_own_url(const FrontDoor& door);

HttpResponse to_http(RouteAnswer answer);

// Asks `access`, which outlives it.
HttpServer::Gate gate_of(Access& access);

// HttpServer::listen, tried again for some seconds: a replica that ends on this host may still have
// the port while the next one starts, and a container that ended would start again much later.
// Error as listen's, also when `stop` is requested.
Result<int> listen_soon(HttpServer& server, const std::stop_token& stop);

// /healthz and /readyz on a port and threads of their own, without TLS, since there is nothing to
// hide: kubelet restarts us when /healthz does not answer, which binds that wait for the API server
// must not bring about. Serves until `stop`; the thread is its caller's.
Result<std::jthread> serve_health(const FrontDoor& door, const HttpServer::Handler& answer,
                                  const std::stop_token& stop);

}  // namespace tessera
