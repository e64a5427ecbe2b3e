#include "adapters/http/server_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tessera {
namespace {

tl::unexpected<Error> bad(const std::string& url, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("server \"{}\" {}", url, why));
}

// 0 if it is no port.
int parse_port(std::string_view text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    const bool is_port = error == std::errc() && end == text.data() + text.size();
    return is_port && port >= 1 && port <= 65535 ? port : 0;
}

}  // namespace

Result<HttpEndpoint> parse_server_url(const std::string& url) {
    HttpEndpoint endpoint;
    std::string rest = url;
    endpoint.tls = rest.starts_with("https://");
    if (!endpoint.tls && !rest.starts_with("http://"))
        return bad(url, "is not an http or https address");
    if (url.find_first_of("?#") != std::string::npos)
        return bad(url, "has a query; give the address alone");
    rest.erase(0, endpoint.tls ? 8 : 7);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    endpoint.path_prefix = rest.substr(slash);
    while (endpoint.path_prefix.ends_with('/'))
        endpoint.path_prefix.pop_back();
    rest.erase(slash);
    endpoint.port = endpoint.tls ? 443 : 80;
    const std::size_t colon = rest.rfind(':');
    const bool has_port = colon != std::string::npos && rest.find(']', colon) == std::string::npos;
    if (has_port) {
        endpoint.port = parse_port(std::string_view(rest).substr(colon + 1));
        rest.erase(colon);
    }
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    endpoint.host = rest;
    if (endpoint.host.empty() || endpoint.port == 0) return bad(url, "has no host or a wrong port");
    return endpoint;
}

}  // namespace tessera
