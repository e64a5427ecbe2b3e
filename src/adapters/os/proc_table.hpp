// The ProcessTable port over /proc. It sees the processes of other containers only in the node's
// pid namespace (hostPID).
#pragma once

#include "ports/process_table.hpp"

namespace tessera {

class ProcTable final : public ProcessTable {
  public:
    std::optional<PodUid> pod_of(std::int64_t pid) override;
    std::optional<std::int64_t> pid_in_container(std::int64_t pid) override;
    std::optional<std::int64_t> started_at(std::int64_t pid) override;
    Result<> end(std::int64_t pid, const PodUid& pod) override;
};

}  // namespace tessera
