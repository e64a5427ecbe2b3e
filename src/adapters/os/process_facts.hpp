// This process, as /proc shows it.
#pragma once

#include <string>

#include "ports/process_facts.hpp"

namespace tessera {

// What cannot be read is 0. Any thread may call.
ProcessFacts read_process_facts(const std::string& program);

}  // namespace tessera
