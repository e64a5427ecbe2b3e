// A port beside a program's work: its health, or its metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/http/http.hpp"

namespace tessera {

struct SmallServer {
    std::string address;
    std::int64_t port = 0;
    int threads = 1;
    std::size_t most_connections = 16;
};

// Plain HTTP until `stop`; the thread is its caller's. Errors as HttpServer::listen.
Result<std::jthread> serve_beside(const SmallServer& server, HttpServer::Handler handler,
                                  const std::stop_token& stop);

// What a handler says of a path that it does not know.
HttpResponse not_found();

}  // namespace tessera
