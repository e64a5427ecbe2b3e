// The processes of this node, seen from outside their containers.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// Any thread. A pid is as this program sees it; it may be another's by the time of the call.
class ProcessTable {
  public:
    virtual ~ProcessTable() = default;

    // Nothing where it is of no pod, gone, or not to be seen from here.
    virtual std::optional<PodUid> pod_of(std::int64_t pid) = 0;
    // The number that the process has in its own pid namespace, its container's. Nothing where it
    // is gone, or not to be seen from here.
    virtual std::optional<std::int64_t> pid_in_container(std::int64_t pid) = 0;
    // When it was started, in a unit of the node's: a pid that is given out again has another one.
    // Nothing where it is gone, or not to be seen from here.
    virtual std::optional<std::int64_t> started_at(std::int64_t pid) = 0;
    // Kills it (-9), if it is of that pod. not_found where it is not, or is gone;
    // permission_denied.
    virtual Result<> end(std::int64_t pid, const PodUid& pod) = 0;
};

}  // namespace tessera
