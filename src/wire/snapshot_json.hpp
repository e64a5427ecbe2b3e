// A cluster's snapshot as text: docs/formats/snapshot.md.
#pragma once

#include <string>
#include <string_view>

#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

inline constexpr int kSnapshotVersion = 3;
// Those are read as well: without links between cards,
inline constexpr int kSnapshotWithoutLinks = 2;
// and without rules on cards and UUIDs too.
inline constexpr int kSnapshotWithoutRules = 1;

// A node and a pod to a line; of an older version what does not tell links, or rules.
std::string write_snapshot(const ClusterSnapshot& snapshot);

// invalid_argument names the field that is missing or out of range ("pods[3].asks[0].gpus");
// unsupported for another version. Names of nodes and of pods are such as Kubernetes has, and there
// once, as each key of an object is; no text has control characters. Pods and shares name nodes and
// cards that are there, links other cards of the node. A container has one share of a card, no
// larger than that, and a whole one has all of it; together shares may be more than the card.
Result<ClusterSnapshot> read_snapshot(std::string_view text);

}  // namespace tessera
