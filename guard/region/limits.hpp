// The limits of a container, as its processes and the agent find them.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// A mapping of the file; null where there is none, as errno says, or it is of another layout: then
// errno is 0.
const Limits* open_limits(const char* path);
void close_limits(const Limits* limits);
// To change it; null as above.
Limits* change_limits(const char* path);

// Index of a card, -1 where the container has no share of it.
int find_card(const Limits& limits, const std::uint8_t* uuid);

}  // namespace tessera::guard
