// The commands of `tessera`. Each is in the file of its name, and a row of the table in
// tessera.cpp.
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
CommandRow completion_command();

}  // namespace tessera
