#include "adapters/workload/pod_web_socket.hpp"

#include <fmt/format.h>

#include <chrono>

#include "adapters/kube/kube_call.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kOpens{20'000};
constexpr std::chrono::milliseconds kDeadline{10'000};

// Its answer to a plain request for the path says why the API server declined a WebSocket.
Error why_declined(HttpClient& http, const std::string& path, std::string_view instead) {
    const auto answer = http.send({.method = "GET", .path = path}, kDeadline);
    Error reason = answer ? kube_error(*answer, path) : answer.error();
    if (reason.text.find("Upgrade request required") == std::string::npos) return reason;
    return {Code::unavailable,
            fmt::format("the API server was not asked for a WebSocket: a proxy before it does not "
                        "pass it on; use {}, or another way to the API server",
                        instead)};
}

bool is_among(std::string_view protocol, std::string_view protocols) {
    return fmt::format(", {},", protocols).find(fmt::format(", {},", protocol)) !=
           std::string::npos;
}

}  // namespace

Result<std::unique_ptr<WebSocket>> open_pod_socket(HttpClient& http,
                                                   const PodSocketRequest& request) {
    TRY(auto socket, WebSocket::open(http, request.path, std::string(request.protocols), kOpens));
    if (!socket) {
        return fail(with_right(why_declined(http, request.path, request.instead), "create and get",
                               request.kind, request.ns));
    }
    if (is_among(socket->protocol(), request.protocols)) return socket;
    return fail(Code::unsupported, fmt::format("the API server speaks \"{}\", and not {}",
                                               socket->protocol(), request.protocols));
}

}  // namespace tessera
