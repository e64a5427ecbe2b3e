// /proc/PID/status and stat (proc(5)), as far as Tessera needs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The last number of the line "NSpid:": the pid in the innermost pid namespace (Linux 4.1). Nothing
// if the line is missing.
std::optional<std::int64_t> innermost_pid(std::string_view status);

// The number of the line "PPid:", the parent in the pid namespace of the reader. Nothing if the
// line is missing, or the parent is in none of its namespaces.
std::optional<std::int64_t> parent_pid(std::string_view status);

// Field 22 of /proc/PID/stat: clock ticks from the boot of the node to the start of the process.
// The second field is the program's name, which may contain any character; it ends at the last
// parenthesis.
std::optional<std::int64_t> start_ticks(std::string_view stat);

}  // namespace tessera
