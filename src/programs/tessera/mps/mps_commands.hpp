// The commands below `tessera mps`, each in its own file.
#pragma once

#include "programs/common/commands.hpp"

namespace tessera {

CommandRow mps_verify_command();
CommandRow mps_logs_command();

}  // namespace tessera
