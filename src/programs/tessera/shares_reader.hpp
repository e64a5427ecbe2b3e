// How containers use their GPU shares, asked of the agents for the commands that show it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/http/http.hpp"
#include "app/cli/share_table.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

struct UsesRequest {
    std::string install_ns;    // where Tessera runs
    NodeName node;             // only this one; empty: all
    std::int64_t seconds = 1;  // over which the use of the GPUs' time is measured; 0: it is not
};

struct Shares {
    std::vector<ShareLine> lines;
    std::vector<std::pair<NodeName, Error>> silent;  // nodes without data; empty name: all nodes
};

// Of `nodes`. If none of them enforces shares, no agent has data to return, and none is asked.
// Takes `request.seconds`.
Shares read_shares(HttpClient& api, const UsesRequest& request, std::span<const NodeUsage> nodes);

// The same with the default interval. With one node, only its agent is asked.
Shares read_shares_of(HttpClient& api, const std::string& install_ns,
                      std::span<const NodeUsage> nodes);

// The nodes on which the job's pods run, with these pods.
std::vector<NodeUsage> nodes_of(const workload::TrainingStatus& job,
                                std::span<const NodeInventory> nodes);

// Names the nodes without data on stderr.
void print_silent(const Shares& shares);

}  // namespace tessera
