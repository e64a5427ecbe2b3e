#include "adapters/http/listening_socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

namespace tessera {
namespace {

constexpr int kBacklog = 512;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

int port_of(int fd) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
    // The port is at the same place for both.
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

// Nothing if the address cannot be used; errno says why.
std::optional<ListeningSocket> listen_at(const addrinfo& at) {
    const int fd =
        ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
    if (fd < 0) return std::nullopt;
    const int on = 1;
    const int off = 0;
    // A restarted program may use its port at once. SO_REUSEPORT is not set: it would let a second
    // instance take half of the connections.
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at.ai_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const bool listens = ::bind(fd, at.ai_addr, at.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0;
    const int port = listens ? port_of(fd) : 0;
    if (port > 0) return ListeningSocket{fd, port};
    const int error = errno;
    ::close(fd);
    errno = error;
    return std::nullopt;
}

}  // namespace

Result<ListeningSocket> listen_on(const std::string& address, int port) {
    const auto refuse = [&](std::string_view why) {
        return fail(Code::unavailable,
                    fmt::format("cannot listen on {}:{}: {}", address, port, why));
    };
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int unknown =
        ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (unknown != 0) return refuse(::gai_strerror(unknown));
    const Addresses addresses(found, &::freeaddrinfo);
    int error = 0;
    for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
        if (const auto socket = listen_at(*at)) return *socket;
        error = errno;
    }
    if (error == EADDRINUSE) return refuse("is another instance using the port?");
    return refuse(std::strerror(error));
}

}  // namespace tessera
