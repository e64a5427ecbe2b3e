// Whether the guard can enforce shares on this node, as far as the agent can see when it starts.
// Pure.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tessera {

struct HostFacts {
    std::string kernel;  // uname -r
    bool enforces_selinux =
        false;  // true also if it may: a program in a container cannot always see it
    std::string selinux_label;  // of the guard's folder; empty: none
};

// unsupported, with the fix, if containers on this node cannot load the guard or would fail with
// it.
Result<> check_host(const HostFacts& host);

// The SELinux label of files that every container may read, execute and write (container-selinux).
inline constexpr const char* kContainerFileLabel = "system_u:object_r:container_file_t:s0";

}  // namespace tessera
