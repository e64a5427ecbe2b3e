// What check_host() judges, of the node that this program runs on.
#pragma once

#include <filesystem>

#include "domain/handover/host_support.hpp"

namespace tessera {

// Labels the guard's folder for containers where SELinux is on and allows it, and says how the node
// is then. Never fails: what cannot be read is left empty.
HostFacts read_host_facts(const std::filesystem::path& guard_folder);

}  // namespace tessera
