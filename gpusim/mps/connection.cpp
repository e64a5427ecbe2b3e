#include "gpusim/mps/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {

Read read_some(Connection& connection) {
    const std::size_t space = sizeof connection.buffer - connection.size;
    if (space == 0) return Read::closed;
    const ssize_t got =
        recv(connection.fd, connection.buffer + connection.size, space, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Read::ok : Read::closed;
    if (got == 0) return Read::closed;
    connection.size += static_cast<std::size_t>(got);
    if (connection.peer != Peer::unknown) return Read::ok;
    const char greeting = connection.buffer[0];
    if (greeting != kFrontEnd && greeting != kClient) return Read::closed;
    connection.peer = greeting == kClient ? Peer::client : Peer::front_end;
    connection.size--;
    std::memmove(connection.buffer, connection.buffer + 1, connection.size);
    return Read::ok;
}

bool next_command(Connection& connection, char (&line)[kMaxCommand + 1]) {
    const auto* end =
        static_cast<const char*>(std::memchr(connection.buffer, '\n', connection.size));
    if (end == nullptr) return false;
    const auto length = static_cast<std::size_t>(end - connection.buffer);
    std::memcpy(line, connection.buffer, length);
    line[length] = '\0';
    connection.size -= length + 1;
    std::memmove(connection.buffer, end + 1, connection.size);
    return true;
}

bool next_report(Connection& connection, Report& report) {
    if (connection.size < sizeof report) return false;
    std::memcpy(&report, connection.buffer, sizeof report);
    connection.size -= sizeof report;
    std::memmove(connection.buffer, connection.buffer + sizeof report, connection.size);
    return true;
}

bool send_answer(const Connection& connection, const Answer& answer, unsigned exit_status) {
    AnswerHeader header;
    header.bytes = static_cast<std::uint32_t>(answer.size);
    header.exit_status = exit_status;
    // The socket is non-blocking: a peer that reads nothing cannot stop the daemon.
    return send_all(connection.fd, &header, sizeof header) &&
           send_all(connection.fd, answer.text, answer.size);
}

PeerProcess peer_process(int fd) {
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
    return {credentials.pid, credentials.uid};
}

}  // namespace gpusim::mps
