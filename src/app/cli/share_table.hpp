// What containers make of their shares of cards: a table, the fullest share first, with a line for
// each process, and the same as JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/usage.hpp"
#include "wire/json.hpp"
#include "wire/share_uses_json.hpp"

namespace tessera {

struct ShareLine {
    NodeName node;
    int gpu = 0;  // the card's index; -1 where the node does not show it
    ShareUse use;
    // Percent of a while, where the card's time is shared out.
    std::optional<int> time;  // of the card's time, that it had
    std::optional<int> busy;  // in which it had work on its way to the card or there
};

// Joins what agents say with the cards that their nodes publish. `before` is what they said `ns`
// earlier: of shares that are in both it is told how much of the while they had. Shares of pods
// that have finished, or are gone, are left out: the agent keeps them a while longer. Fullest
// first.
std::vector<ShareLine> share_lines(std::span<const NodeUsage> nodes,
                                   std::span<const NodeShareUses> now,
                                   std::span<const NodeShareUses> before = {}, std::int64_t ns = 0);

std::string share_table(std::span<const ShareLine> lines);
// As the member "shares" of an object that is being written.
void write_shares(JsonWriter& w, std::span<const ShareLine> lines);

}  // namespace tessera
