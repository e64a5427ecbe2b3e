// The commands of `tessera`. Each function is in NAME_command.cpp and makes the command's row
// (programs/common/commands.hpp). tessera.cpp lists them in the order of the help.
#pragma once

#include "programs/common/commands.hpp"

namespace tessera {

CommandRow inspect_command();
CommandRow top_command();
CommandRow doctor_command();
CommandRow resize_command();
CommandRow defrag_command();
CommandRow explain_command();
CommandRow snapshot_command();
CommandRow clean_nodes_command();
CommandRow migrate_command();
CommandRow submit_command();
CommandRow list_command();
CommandRow get_command();
CommandRow logs_command();
CommandRow attach_command();
CommandRow tensorboard_command();
CommandRow delete_command();
CommandRow prune_command();
CommandRow serve_command();
CommandRow data_command();
CommandRow whoami_command();
CommandRow mps_command();
CommandRow run_command();
CommandRow completion_command();

}  // namespace tessera
