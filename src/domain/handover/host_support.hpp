// Whether the guard can enforce shares on this node, as far as the agent can know at its start.
// Pure.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

struct HostFacts {
    std::string kernel;             // uname -r
    bool enforces_selinux = false;  // or may: a program in a container cannot always tell
    std::string selinux_label;      // of the guard's folder; empty: none
};

// unsupported, with the fix, where containers on this node could not load the guard or would fail
// with it.
Result<> check_host(const HostFacts& host);

// The SELinux type of files that every container may read, execute and write (container-selinux).
inline constexpr const char* kContainerFileLabel = "system_u:object_r:container_file_t:s0";

}  // namespace tessera
