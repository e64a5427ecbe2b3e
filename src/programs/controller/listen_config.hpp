// Where the controller listens, and which clients can reach it there.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/scheduler/http/access.hpp"

namespace tessera {

// The rows of the configuration that must agree.
struct ListenConfig {
    std::string listen;
    std::int64_t port = 0;
    std::int64_t health_port = 0;  // 0: none
    std::string health_listen{};   // empty: `listen`
    HttpTlsFiles tls;
    bool plain_http = false;
    std::string advertise;
};

// Refuses a configuration that lets unauthenticated clients in: plain HTTP, or TLS without client
// certificates, beyond loopback. The error names the rows and says what to do. Other errors as
// check_tls_files.
Result<> check_listen_config(const ListenConfig& listen);

// The URL at which other machines reach this replica: `advertise`, or else the address that it
// listens on. The error names the row.
Result<std::string> read_own_url(const ListenConfig& listen);

HttpResponse to_http(RouteAnswer answer);

// The gate asks `access`, which must outlive it.
HttpServer::Gate gate_of(Access& access);

// HttpServer::listen, retried for some seconds: a replica that is ending on this host may still
// have the port, and kubelet restarts a failed container only much later. Error as listen's, also
// when `stop` is requested.
Result<int> listen_soon(HttpServer& server, const std::stop_token& stop);

// Serves /healthz and /readyz on their own port and threads, without TLS because nothing there is
// secret. Kubelet restarts the controller when /healthz does not answer; binds that wait for the
// API server must not cause that. Serves until `stop`; the caller owns the thread.
Result<std::jthread> serve_health(const ListenConfig& listen, const HttpServer::Handler& answer,
                                  const std::stop_token& stop);

}  // namespace tessera
