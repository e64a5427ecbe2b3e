// The nodes of a cluster as tables, text and JSON. The layouts and the names in JSON are Arena's
// (docs/research/arena.md §4.1), with more columns and members.
#pragma once

#include <span>
#include <string>

#include "app/cli/share_table.hpp"
#include "app/top/node_rows.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// What a view of nodes shows beside their rows.
struct NodeTextOptions {
    bool names_given = false;  // some nodes were chosen by their names: no sums of a cluster
    bool per_gpu = false;      // a column for each GPU of a node
    bool has_uses = false;     // `uses` are known, at least of some nodes
    std::span<const ShareLine> uses;
};

// One line per node, and the sums. If all nodes have one mode, the table of this mode.
std::string node_table(std::span<const NodeRow> rows, const NodeTextOptions& view);
// One paragraph per node, with its pods and its GPUs, and the sums.
std::string node_details(std::span<const NodeRow> rows, const NodeTextOptions& view);
// An object with an array per mode.
std::string node_json(std::span<const NodeRow> rows, const NodeTextOptions& view);

// "Allocated/Total GPUs In Cluster:" and so on: the sums below both texts. Empty without rows.
std::string node_sums(std::span<const NodeRow> rows);

// "3.0", in GiB.
std::string gib_text(Bytes memory);
// "<none>", or the roles.
std::string role_text(const ShownNode& facts);

}  // namespace tessera
