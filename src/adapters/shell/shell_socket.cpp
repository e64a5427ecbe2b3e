#include "adapters/shell/shell_socket.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "adapters/os/random_bytes.hpp"
#include "adapters/shell/host_addresses.hpp"
#include "wire/shell/shell_protocol.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 128;
constexpr int kIdleSeconds = 30;
constexpr int kProbeSeconds = 10;
constexpr int kProbes = 6;

tl::unexpected<Error> failed(const char* what) {
    return fail(Code::unavailable, std::string(what) + ": " + std::strerror(errno));
}

void set(int socket, int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
}

// Waits until the socket can be read or written.
Result<> wait_for(int socket, short events, Clock::time_point end) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0) return fail(Code::unavailable, "it does not answer");
        pollfd item{.fd = socket, .events = events, .revents = 0};
        const int ready = ::poll(&item, 1, static_cast<int>(left.count()));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return failed("poll");
    }
}

Result<ShellSocket> connect_to(const HostAddress& host, Clock::time_point end) {
    auto out = std::make_unique<Descriptor>(
        ::socket(host.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (out->get() < 0) return failed("socket");
    prepare_connection(out->get());
    const auto* address = reinterpret_cast<const sockaddr*>(&host.address);
    if (::connect(out->get(), address, host.size) == 0) return out;
    if (errno != EINPROGRESS) return failed("connect");
    TRY_VOID(wait_for(out->get(), POLLOUT, end));
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(out->get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return out;
    errno = error;
    return failed("connect");
}

// Exactly `size` bytes.
Result<std::string> receive(int socket, std::size_t size, Clock::time_point end) {
    std::string out(size, '\0');
    for (std::size_t have = 0; have < size;) {
        TRY_VOID(wait_for(socket, POLLIN, end));
        const ssize_t got = ::recv(socket, out.data() + have, size - have, 0);
        if (got == 0) return fail(Code::unavailable, "it closed the connection");
        if (got < 0 && errno != EAGAIN && errno != EINTR) return failed("recv");
        have += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    return out;
}

Result<> prove(int socket, std::string_view secret, Clock::time_point end) {
    TRY(const std::string greeting, receive(socket, kGreetingBytes, end));
    TRY(const std::string theirs, read_greeting(greeting));
    const std::string ours = random_bytes(kNonceBytes);
    const std::string hello = ours + shell_proof(secret, ShellSide::client, theirs, ours);
    // The first bytes of a connection always fit into its buffer.
    if (::send(socket, hello.data(), hello.size(), MSG_NOSIGNAL) != std::ssize(hello))
        return failed("send");
    TRY(const std::string proof, receive(socket, kProofBytes, end));
    if (is_shell_proof(proof, secret, ShellSide::server, theirs, ours)) return {};
    return fail(Code::permission_denied, proof == kRefusal
                                             ? "it refuses the secret, which is not that of its job"
                                             : "it does not have the secret of this job");
}

}  // namespace

Result<ShellSocket> listen_for_shells(int port) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_any;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = six.sin6_port;
    constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    auto out = std::make_unique<Descriptor>(::socket(AF_INET6, kKind, 0));
    const bool has_six = out->get() >= 0;
    if (!has_six) out->replace(::socket(AF_INET, kKind, 0));  // a kernel without IPv6
    if (out->get() < 0) return failed("socket");
    set(out->get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (has_six) set(out->get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const auto* address = has_six ? reinterpret_cast<const sockaddr*>(&six)
                                  : reinterpret_cast<const sockaddr*>(&four);
    const socklen_t size = has_six ? sizeof six : sizeof four;
    if (::bind(out->get(), address, size) != 0 || ::listen(out->get(), kBacklog) != 0) {
        return fail(Code::unavailable,
                    "port " + std::to_string(port) + ": " + std::strerror(errno));
    }
    return out;
}

int port_of(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    // The port is at the same place for both families.
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    return ntohs(four.sin_port);
}

void prepare_connection(int socket) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

std::string peer_of(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, &address, sizeof four);
        ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
    } else {
        sockaddr_in6 six{};
        std::memcpy(&six, &address, sizeof six);
        ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    }
    const std::string_view shown(text.data());
    constexpr std::string_view kMapped = "::ffff:";
    return std::string(shown.starts_with(kMapped) ? shown.substr(kMapped.size()) : shown);
}

Result<ShellSocket> connect_shell(const std::string& host, int port, std::string_view secret,
                                  std::chrono::milliseconds deadline) {
    const auto end = Clock::now() + deadline;
    TRY(const auto addresses, addresses_of(host, port));
    Error error{Code::unavailable, "it has no address yet"};
    for (const HostAddress& address : addresses) {
        auto socket = connect_to(address, end);
        if (!socket) {
            error = socket.error();
            continue;
        }
        const auto proved = prove((*socket)->get(), secret, end);
        if (proved) return socket;
        // An address of DNS may be that of an earlier pod, which another job has now.
        error = proved.error();
    }
    return fail(error);
}

}  // namespace tessera
