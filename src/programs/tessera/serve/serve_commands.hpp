// The commands of `tessera serve`. Each function makes a row of the group.
#pragma once

#include "programs/common/commands.hpp"

namespace tessera {

CommandRow serve_tensorflow_command();
CommandRow serve_triton_command();
CommandRow serve_custom_command();
CommandRow serve_update_command();
CommandRow serve_traffic_split_command();
CommandRow serve_list_command();
CommandRow serve_get_command();
CommandRow serve_logs_command();
CommandRow serve_attach_command();
CommandRow serve_delete_command();

}  // namespace tessera
