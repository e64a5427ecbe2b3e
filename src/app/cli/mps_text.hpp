// `tessera mps status`: the GPUs in MPS mode, their daemons, and the containers that use them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "domain/mps/mps_report.hpp"

namespace tessera {

// A line for each GPU in MPS mode, and below it one for each container. Nodes without such a GPU
// are left out; a text without a table if there are none.
std::string mps_table(std::span<const MpsReport> nodes);
// Ascending by node: {"nodes":[{<as an agent reports it>}]}.
std::string mps_json(std::span<const MpsReport> nodes);
// What is wrong, a line each; empty if all is well.
std::string mps_faults(std::span<const MpsReport> nodes);

// What may go to a terminal: other characters become '?', and at most `most` bytes are kept.
std::string for_terminal(std::string_view text, std::size_t most);

// The last lines of each log, for a terminal; with several logs, each after its name.
std::string mps_logs_text(const MpsLogs& logs, std::size_t lines);

}  // namespace tessera
