// /proc/PID/status (proc(5)), as far as Tessera asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// The last number of the line "NSpid:", that of the innermost pid namespace (Linux 4.1). Nothing
// where there is no such line.
std::optional<std::int64_t> innermost_pid(std::string_view status);

}  // namespace tessera
