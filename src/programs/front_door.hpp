// Where the controller listens, and who can reach it there.
#pragma once

#include <cstdint>
#include <string>

#include "adapters/http/http.hpp"
#include "app/scheduler/access.hpp"

namespace tessera {

// The rows of the configuration that belong together.
struct FrontDoor {
    std::string listen;
    std::int64_t port = 0;
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

// Asks `access`, which outlives it.
HttpServer::Gate gate_of(Access& access);

}  // namespace tessera
