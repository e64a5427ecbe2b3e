#include "programs/controller/listen_config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <utility>

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

Result<> check_beyond_loopback(const ListenConfig& listen) {
    if (listen.tls.certificate.empty()) {
        return bad(fmt::format(
            "listen: other machines can reach \"{}\": set tls_certificate_file, tls_key_file "
            "and client_ca_file, or plain_http if something else restricts access",
            listen.listen));
    }
    if (!listen.tls.client_ca.empty()) return {};
    return bad(fmt::format(
        "client_ca_file: missing: without it every client that reaches \"{}\" can bind pods; set "
        "it to the authority that signs kube-scheduler's certificate",
        listen.listen));
}

}  // namespace

Result<> check_listen_config(const ListenConfig& listen) {
    if (listen.health_port == listen.port && listen.health_port != 0) {
        return bad(fmt::format("health_port: {} is also the value of port; set another, or 0",
                               listen.health_port));
    }
    const bool speaks_tls = !listen.tls.certificate.empty();
    if (speaks_tls == listen.tls.key.empty()) {
        return bad(
            fmt::format("{}: missing: set both tls_certificate_file and tls_key_file, or neither",
                        speaks_tls ? "tls_key_file" : "tls_certificate_file"));
    }
    if (!speaks_tls && !listen.tls.client_ca.empty()) {
        return bad("client_ca_file: requires tls_certificate_file and tls_key_file");
    }
    if (speaks_tls && listen.plain_http) {
        return bad("plain_http: conflicts with tls_certificate_file; set only one of them");
    }
    if (!is_loopback(listen.listen) && !listen.plain_http) TRY_VOID(check_beyond_loopback(listen));
    if (speaks_tls) TRY_VOID(check_tls_files(listen.tls));
    return {};
}

Result<std::string> read_own_url(const ListenConfig& listen) {
    const std::string_view scheme = listen.tls.certificate.empty() ? "http://" : "https://";
    if (!listen.advertise.empty()) {
        if (listen.advertise.starts_with(scheme) && !listen.advertise.ends_with('/'))
            return listen.advertise;
        return bad(fmt::format("advertise: \"{}\" is not {}HOST:PORT", listen.advertise, scheme));
    }
    if (listen.listen == "0.0.0.0" || listen.listen == "::") {
        return bad(fmt::format("advertise: missing; other machines cannot reach this replica at {}",
                               listen.listen));
    }
    const bool is_v6 = listen.listen.find(':') != std::string::npos;
    return fmt::format("{}{}:{}", scheme, is_v6 ? "[" + listen.listen + "]" : listen.listen,
                       listen.port);
}

HttpServer::Gate gate_of(Access& access) {
    return gate_of([&access](const RequestHead& head) { return access.refuse(head); });
}

}  // namespace tessera
