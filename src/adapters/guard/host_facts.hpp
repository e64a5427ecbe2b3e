// What check_host() judges, of the node that this program runs on.
#pragma once

#include <filesystem>

#include "domain/handover/host_support.hpp"

namespace tessera {

// Whether SELinux is on, or may be and cannot be asked.
bool enforces_selinux();

// Labels the folder for containers, and all that is in it by now: files that are made in it later
// get its label. Links are not followed. What cannot be labelled keeps the label that it has.
void label_for_containers(const std::filesystem::path& folder);

// Where SELinux is on, labels the guard's folder for containers, and says how the node is then.
// Never fails: what cannot be read is left empty.
HostFacts read_host_facts(const std::filesystem::path& guard_folder, bool has_selinux);

}  // namespace tessera
