// Log lines of the MPS programs: "[2026-11-29 09:55:10.024 Control 29530] Cmd:get_server_list".
#pragma once

namespace gpusim::mps {

// Writes to `fd`; a negative one writes nothing.
struct Log {
    int fd = -1;
    const char* program = "Control";  // the server's is "Other"

    [[gnu::format(printf, 2, 3)]] void line(const char* format, ...) const;
};

}  // namespace gpusim::mps
