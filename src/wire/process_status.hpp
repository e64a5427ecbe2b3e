// /proc/PID/status and stat (proc(5)), as far as Tessera asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The last number of the line "NSpid:", that of the innermost pid namespace (Linux 4.1). Nothing
// where there is no such line.
std::optional<std::int64_t> innermost_pid(std::string_view status);

// Field 22 of /proc/PID/stat: clock ticks from the start of the node to that of the process. The
// second field is the program's name, which may hold anything but ends at the last parenthesis.
std::optional<std::int64_t> start_ticks(std::string_view stat);

}  // namespace tessera
