#include "programs/front_door.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "adapters/os/pause.hpp"
#include "programs/common/small_server.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> bad(std::string text) {
    return fail(Code::invalid_argument, std::move(text));
}

bool is_loopback(const std::string& address) {
    in_addr v4{};
    if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    in6_addr v6{};
    if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
    return address == "localhost";
}

Result<> check_beyond_loopback(const FrontDoor& door) {
    if (door.tls.certificate.empty()) {
        return bad(fmt::format(
            "listen: others than this machine reach \"{}\": give tls_certificate_file, "
            "tls_key_file "
            "and client_ca_file, or plain_http where something else keeps strangers out",
            door.listen));
    }
    if (!door.tls.client_ca.empty()) return {};
    return bad(fmt::format(
        "client_ca_file: missing: without it whoever reaches \"{}\" can bind pods; give "
        "the authority that signs kube-scheduler's certificate",
        door.listen));
}

}  // namespace

Result<> check_front_door(const FrontDoor& door) {
    if (door.health_port == door.port && door.health_port != 0) {
        return bad(fmt::format("health_port: {} is port; give it another, or 0", door.health_port));
    }
    const bool speaks_tls = !door.tls.certificate.empty();
    if (speaks_tls == door.tls.key.empty()) {
        return bad(
            fmt::format("{}: missing: give tls_certificate_file and tls_key_file, or neither",
                        speaks_tls ? "tls_key_file" : "tls_certificate_file"));
    }
    if (!speaks_tls && !door.tls.client_ca.empty()) {
        return bad("client_ca_file: needs tls_certificate_file and tls_key_file beside it");
    }
    if (speaks_tls && door.plain_http) {
        return bad("plain_http: stands beside tls_certificate_file; give one of them");
    }
    if (!is_loopback(door.listen) && !door.plain_http) TRY_VOID(check_beyond_loopback(door));
    if (speaks_tls) TRY_VOID(check_tls_files(door.tls));
    return {};
}

Result<std::string> read_own_url(const FrontDoor& door) {
    const std::string_view scheme = door.tls.certificate.empty() ? "http://" : "https://";
    if (!door.advertise.empty()) {
        if (door.advertise.starts_with(scheme) && !door.advertise.ends_with('/'))
            return door.advertise;
        return bad(fmt::format("advertise: \"{}\" is not {}HOST:PORT", door.advertise, scheme));
    }
    if (door.listen == "0.0.0.0" || door.listen == "::") {
        return bad(
            fmt::format("advertise: missing; others cannot reach this replica at {}", door.listen));
    }
    const bool is_v6 = door.listen.find(':') != std::string::npos;
    return fmt::format("{}{}:{}", scheme, is_v6 ? "[" + door.listen + "]" : door.listen, door.port);
}

HttpResponse to_http(RouteAnswer answer) {
    return {.status = answer.status,
            .body = std::move(answer.body),
            .content_type = std::move(answer.content_type),
            .location = std::move(answer.location),
            .allow = std::move(answer.allow),
            .authenticate = std::move(answer.authenticate)};
}

HttpServer::Gate gate_of(Access& access) {
    return [&access](const HttpHead& head) -> std::optional<HttpResponse> {
        auto refusal =
            access.refuse({head.method, head.path, head.has_certificate, head.bearer_token});
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

Result<std::jthread> serve_health(const FrontDoor& door, const HttpServer::Handler& answer,
                                  const std::stop_token& stop) {
    if (door.health_port == 0) return std::jthread();
    const HttpServer::Handler only_health = [answer](HttpRequest& request) {
        const bool is_health = request.path == "/healthz" || request.path == "/readyz";
        return is_health && request.method == "GET" ? answer(request) : not_found();
    };
    auto served = serve_beside(
        {.address = door.listen, .port = door.health_port, .threads = 2, .most_connections = 64},
        only_health, stop);
    if (!served) return fail(served.error().in("health_port"));
    return served;
}

}  // namespace tessera
