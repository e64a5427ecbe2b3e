// A cluster's snapshot as text: docs/formats/snapshot.md.
#pragma once

#include <string>
#include <string_view>

#include "domain/dump/cluster_dump.hpp"

namespace tessera {

inline constexpr int kDumpVersion = 3;
// Older versions are read as well: without links between GPUs,
inline constexpr int kDumpWithoutLinks = 2;
// and also without rules on GPUs and UUIDs.
inline constexpr int kDumpWithoutRules = 1;

// Writes one node or pod per line. A dump without links, or without rules, is written in the older
// version.
std::string write_dump(const ClusterDump& dump);

// invalid_argument names the field that is missing or out of range ("pods[3].requests[0].gpus");
// unsupported for another version. Names of nodes and pods are valid in Kubernetes and unique, as
// is each key of an object; no text has control characters. Pods and shares name existing nodes and
// GPUs, and links name other GPUs of the node. A container has at most one share of a GPU, no
// larger than the GPU; a whole one has all of it. The shares on a GPU may add up to more than the
// GPU.
Result<ClusterDump> read_dump(std::string_view text);

}  // namespace tessera
