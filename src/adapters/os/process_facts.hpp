// Facts about this process from /proc.
#pragma once

#include <string>

#include "ports/process_facts.hpp"

namespace tessera {

// A value that cannot be read is 0. Any thread may call.
ProcessFacts read_process_facts(const std::string& program);

}  // namespace tessera
