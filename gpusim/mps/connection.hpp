// One peer of the daemon: what it has sent of its next command. Nothing here waits.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "gpusim/mps/answer.hpp"
#include "gpusim/mps/commands.hpp"

namespace gpusim::mps {

enum class Peer { unknown, front_end, client };

struct Connection {
    int fd = -1;
    Caller caller;
    pid_t pid = 0;  // of the peer, in the daemon's pid namespace; 0 if it has none there
    Peer peer = Peer::unknown;  // what it said it is
    std::uint64_t ticket = 0;   // of a client that waits for its server: lower ones are first
    pid_t waits_for =
        0;  // a front end's start_server is answered when this server is ready or gone
    char buffer[kMaxCommand + 1] = {};  // with a line end
    std::size_t size = 0;
};

enum class Read { ok, closed };

// Reads what is there. `closed`: the peer is gone, speaks something else, or sent a command that
// is too long.
Read read_some(Connection& connection);

// Copies the next complete command to `line`, without its line end, and cuts it at a NUL byte.
bool next_command(Connection& connection, char (&line)[kMaxCommand + 1]);

// Copies the next complete report of a client. False if there is none.
bool next_report(Connection& connection, Report& report);

// False if the peer is gone, or does not read its answers.
bool send_answer(const Connection& connection, const Answer& answer, unsigned exit_status);

struct PeerProcess {
    pid_t pid = 0;
    uid_t uid = static_cast<uid_t>(-1);
};

// The process that connected the socket, as the kernel tells.
PeerProcess peer_process(int fd);

}  // namespace gpusim::mps
