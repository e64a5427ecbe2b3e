// One peer of the daemon: what it has sent of its next command. Nothing here waits.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "gpusim/mps/answer.hpp"
#include "gpusim/mps/commands.hpp"

namespace gpusim::mps {

struct Connection {
    int fd = -1;
    Caller caller;
    bool greeted = false;  // it said what it is; so far only front ends exist
    pid_t waits_for = 0;   // its start_server is answered when this server is ready or gone
    char buffer[kMaxCommand + 1] = {};  // with a line end
    std::size_t size = 0;
};

enum class Read { ok, closed };

// Reads what is there. `closed`: the peer is gone, speaks something else, or sent a command that
// is too long.
Read read_some(Connection& connection);

// Copies the next complete command to `line`, without its line end, and cuts it at a NUL byte.
bool next_command(Connection& connection, char (&line)[kMaxCommand + 1]);

// False if the peer is gone, or does not read its answers.
bool send_answer(const Connection& connection, const Answer& answer, unsigned exit_status);

// The user of a connected socket.
uid_t peer_user(int fd);

}  // namespace gpusim::mps
