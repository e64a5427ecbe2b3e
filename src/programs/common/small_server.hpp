// A second port of a program, for health or metrics.
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

// Serves plain HTTP until `stop`, or until the thread is stopped, as its destructor does: a program
// that cannot start must end. The caller owns the thread. Errors as HttpServer::listen.
Result<std::jthread> serve_beside(const SmallServer& server, HttpServer::Handler handler,
                                  const std::stop_token& stop);

// As serve_beside, for a port that another program may have: if it cannot be opened, it is tried
// again until it can. `tell` is called on the thread at most twice: with the error when the first
// try fails, and when the port is open after that.
std::jthread serve_when_free(const SmallServer& server, HttpServer::Handler handler, Clock& clock,
                             std::function<void(const Result<>&)> tell,
                             const std::stop_token& stop);
inline constexpr std::chrono::seconds kListenAgain{3};

// A handler's answer for an unknown path.
HttpResponse not_found();

}  // namespace tessera
