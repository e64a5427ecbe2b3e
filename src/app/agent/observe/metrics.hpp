// The agent's metrics as Prometheus text. Any thread may call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/agent/inventory/gpu_monitor.hpp"
#include "domain/cluster/node.hpp"
#include "domain/mps/mps_report.hpp"
#include "domain/usage/unaccounted.hpp"
#include "ports/metering/usage_spool.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

// How the GPUs of the node are used, as far as the guard counts it, and beyond that.
struct UsageReport {
    std::vector<ShareUse> uses;          // of the containers whose GPU shares are enforced
    std::vector<Unaccounted> bypassing;  // pods that use more memory than the guard counts
    std::vector<Unclaimed> unclaimed;    // GPUs with memory in use that no pod accounts for
};

// The metrics of metrics.def. `usage`: nothing if the agent does not measure GPU time. The numbers
// of containers and of fatal errors are those of this process's log events.
std::string agent_exposition(const NodeInventory& node, const GpuReadings& readings,
                             const UsageReport& shares, const MpsReport& mps,
                             const std::optional<SpoolUse>& usage, const ProcessFacts& process);

}  // namespace tessera
