// The facts about this node that check_host() judges.
#pragma once

#include <filesystem>

#include "domain/container_start/host_support.hpp"

namespace tessera {

// Whether SELinux is on. True also if it may be on and its state cannot be read.
bool enforces_selinux();

// Labels the folder and everything in it for containers; files that are created later get the
// folder's label. Links are not followed. A file that cannot be labelled keeps its label.
void label_for_containers(const std::filesystem::path& folder);

// With SELinux on, labels the guard's folder for containers; then reads the node's state. Never
// fails: a value that cannot be read is empty.
HostFacts read_host_facts(const std::filesystem::path& guard_folder, bool has_selinux);

}  // namespace tessera
