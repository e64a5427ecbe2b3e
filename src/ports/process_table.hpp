// The processes of this node, seen from outside their containers.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// Any thread may call. A pid is in this program's pid namespace. By the time of the call it may
// belong to another process.
class ProcessTable {
  public:
    virtual ~ProcessTable() = default;

    // Nothing if the process belongs to no pod, is gone, or is not visible here.
    virtual std::optional<PodUid> pod_of(std::int64_t pid) = 0;
    // The pid of the process in its own pid namespace, that of its container. Nothing if the
    // process is gone or not visible here.
    virtual std::optional<std::int64_t> pid_in_container(std::int64_t pid) = 0;
    // When the process started, in a unit of the node's kernel. It tells a reused pid apart.
    // Nothing if the process is gone or not visible here.
    virtual std::optional<std::int64_t> started_at(std::int64_t pid) = 0;
    // Kills the process (SIGKILL) if it belongs to that pod. not_found if it does not or is gone;
    // permission_denied.
    virtual Result<> end(std::int64_t pid, const PodUid& pod) = 0;
};

}  // namespace tessera
