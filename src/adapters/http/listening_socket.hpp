// A TCP socket that accepts connections.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

struct ListeningSocket {
    int fd = -1;  // non-blocking, closed on exec; the caller closes it
    int port = 0;
};

// `address`: a name or an address of this machine, of IPv4 or IPv6; "::" accepts both. `port` 0:
// any free one. Two sockets cannot listen on the same address and port. Errors: unavailable, with
// the reason.
Result<ListeningSocket> listen_on(const std::string& address, int port);

}  // namespace tessera
