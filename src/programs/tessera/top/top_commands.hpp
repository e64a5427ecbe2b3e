// The commands of the group `tessera top`. Each function is in NAME_command.cpp.
#pragma once

#include "programs/common/commands.hpp"

namespace tessera {

CommandRow top_node_command();
CommandRow top_job_command();

}  // namespace tessera
