// The arguments with which mpirun calls its remote shell: those of rsh and ssh, of which Open MPI,
// MPICH and Intel MPI use [OPTIONS] HOST COMMAND...
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

struct AgentCall {
    std::string host;     // without a user
    std::string command;  // the words, joined by spaces, as ssh does

    friend bool operator==(const AgentCall&, const AgentCall&) = default;
};

// Without the program's name. Options of ssh are read over: there is one user, and no terminal.
// invalid_argument: a word is missing, or an option is unknown.
Result<AgentCall> read_agent_arguments(const std::vector<std::string>& words);

}  // namespace tessera
