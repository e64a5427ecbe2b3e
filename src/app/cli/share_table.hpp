// The usage of containers' GPU shares: a table, the fullest share first, with a line for each
// process, and the same as JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/usage.hpp"
#include "wire/tessera/share_uses_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {

struct ShareLine {
    NodeName node;
    int gpu = 0;  // the GPU's index; -1 if the node does not publish it
    ShareUse use;
    // Percent of the sampling interval, if the GPU's time is enforced.
    std::optional<int> time;  // GPU time that the share received
    std::optional<int> busy;  // time in which it had work queued or running
};

// Joins the agents' reports with the GPUs that their nodes publish. `before` is the agents' reports
// `ns` nanoseconds earlier; shares in both get the percentages of that interval. Shares of pods
// that have finished or are gone are left out, although the agent keeps them for a while. The
// fullest share comes first.
std::vector<ShareLine> share_lines(std::span<const NodeUsage> nodes,
                                   std::span<const NodeShareUses> now,
                                   std::span<const NodeShareUses> before = {}, std::int64_t ns = 0);

std::string share_table(std::span<const ShareLine> lines);
// Writes the member "shares" of the object that is being written.
void write_shares(JsonWriter& w, std::span<const ShareLine> lines);

}  // namespace tessera
