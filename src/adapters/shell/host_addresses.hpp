// The addresses of a host name, without the C library's name services: a static program would load
// their files from the image that it runs in.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

struct HostAddress {
    sockaddr_storage address = {};  // with the port
    socklen_t size = 0;
};

// A number, a name of /etc/hosts, or else a name of DNS with the search list of /etc/resolv.conf.
// unavailable: it has no address yet.
Result<std::vector<HostAddress>> addresses_of(const std::string& host, int port);

}  // namespace tessera
