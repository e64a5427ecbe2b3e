// Where the controller listens, and which clients can reach it there.
#pragma once

#include <cstdint>
#include <string>

#include "adapters/http/http.hpp"
#include "app/scheduler/http/access.hpp"
#include "programs/service/http_routes.hpp"

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

// The gate asks `access`, which must outlive it.
HttpServer::Gate gate_of(Access& access);

}  // namespace tessera
