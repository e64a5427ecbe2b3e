// The address of a server as users write it: "https://host:443/prefix".
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

// An endpoint with host, port, tls and path_prefix. Without a port it is 443 or 80. An IPv6 address
// is in brackets. invalid_argument quotes the address and says what is wrong.
Result<HttpEndpoint> parse_server_url(const std::string& url);

}  // namespace tessera
