// The ProcessTable port over /proc. It sees the processes of other containers only in the node's
// pid namespace (hostPID).
#pragma once

#include <sys/types.h>

#include <vector>

#include "ports/process_table.hpp"

namespace tessera {

// The processes that /proc shows now, in no order; empty if it cannot be read. Some may have ended
// meanwhile.
std::vector<pid_t> process_ids();

class ProcTable final : public ProcessTable {
  public:
    std::optional<PodUid> pod_of(std::int64_t pid) override;
    std::optional<std::int64_t> pid_in_container(std::int64_t pid) override;
    std::optional<std::int64_t> started_at(std::int64_t pid) override;
    Result<> end(std::int64_t pid, const PodUid& pod) override;
};

}  // namespace tessera
