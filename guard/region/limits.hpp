// The limits of a container, read by its processes and by the agent.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Maps the file. Returns null if it does not exist (see errno) or has another layout (errno is 0).
const Limits* open_limits(const char* path);
void close_limits(const Limits* limits);
// Maps the file for changes; null as above.
Limits* change_limits(const char* path);
// Maps the file such that changes stay in this process, for a file that it may only read; null as
// above.
Limits* copy_limits(const char* path);

// Index of a GPU; -1 if the container has no share of it.
int find_gpu(const Limits& limits, const std::uint8_t* uuid);

}  // namespace tessera::guard
