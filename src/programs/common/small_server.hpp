// A port beside a program's work: its health, or its metrics.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "adapters/http/http.hpp"
#include "ports/clock.hpp"

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

// As serve_beside, for a port that others may have: where it cannot be listened on it is tried
// again until it can. `tell` hears of it on the thread, twice at most: why not, when the first try
// fails; and then that it is listened on.
std::jthread serve_when_free(const SmallServer& server, HttpServer::Handler handler, Clock& clock,
                             std::function<void(const Result<>&)> tell,
                             const std::stop_token& stop);
inline constexpr std::chrono::seconds kListenAgain{3};

// What a handler says of a path that it does not know.
HttpResponse not_found();

}  // namespace tessera
