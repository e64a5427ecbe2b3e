// The pod of a process, from /proc/PID/cgroup. Kubelet puts a pod's uid into the names of its
// cgroups: "…/pod1a2b3c4d-…/…" by its cgroupfs driver, "…-pod1a2b3c4d_….slice/…" by its systemd
// driver.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids.hpp"

namespace tessera {

// Nothing for a process of no pod, and for one of a static pod, whose uid is a hash.
std::optional<PodUid> pod_of_cgroup(std::string_view text);

}  // namespace tessera
